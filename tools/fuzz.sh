#!/bin/sh
# Runs every fuzz target of the module for a while: fuzz.sh 10s
set -eu

go=${GO:-go}
each=${1:-10s}
count=0

# A line per target: package name.
targets=$("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... | while read -r package dir; do
	grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | sed "s|^func |$package |" || true
done)

while read -r package target; do
	[ -n "$target" ] || continue
	count=$((count + 1))
	echo "fuzz $target in ${package#*/*/*/}"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$each" "$package" </dev/null
done <<END
$targets
END
echo "fuzz: $count targets, $each each"
