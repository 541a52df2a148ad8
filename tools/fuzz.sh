#!/bin/sh
# Runs the fuzz targets of the product and the laboratory for a while each: fuzz.sh 10s, or every third of them, from the
# second on: fuzz.sh 10s 2/3
set -eu

go=${GO:-go}
each=${1:-10s}
part=${2:-1/1}
count=0

# A line per target: folder name.
targets=$(for module in . bench; do
	(cd "$module" && "$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...) | while read -r dir; do
		grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | sed "s|^func |$dir |" || true
	done
done | awk -v part="${part%/*}" -v parts="${part#*/}" '(NR - part) % parts == 0')

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# run FOLDER TARGET: fuzzes it. Each interesting input is cut down for a second at
# most: by default that is a minute, in which no other input is tried. A Go fuzzer
# whose time is up while an input runs may report a failure ("context deadline
# exceeded", golang/go#75804) without having found one: a real finding is written to
# testdata, and the output names it.
run() {
	if (cd "$1" && "$go" test -run '^$' -fuzz "^$2\$" -fuzztime "$each" -fuzzminimizetime 1s .) </dev/null >"$output" 2>&1; then
		tail -n 2 "$output"
		return 0
	fi
	cat "$output"
	if grep -q 'context deadline exceeded' "$output" && ! grep -qE 'Failing input|panic|fatal error|data race' "$output"; then
		echo "fuzz $2: the time was up in the middle of an input; it found nothing"
		return 0
	fi
	return 1
}

while read -r dir target; do
	[ -n "$target" ] || continue
	count=$((count + 1))
	echo "fuzz $target in ${dir#"$PWD"/}"
	run "$dir" "$target"
done <<END
$targets
END
echo "fuzz: $count targets, $each each (part $part of them)"
