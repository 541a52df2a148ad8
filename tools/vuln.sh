#!/bin/sh
# Looks for known vulnerabilities in what Pigeon's packages call (govulncheck). Where the database of
# them cannot be had it says so and does not fail. GOVULNDB names another one, such as a copy in a
# folder: file:///srv/vulndb.
set -eu
go=${GO:-go}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
tools=$PWD/tools/go.mod
for module in . bench; do
	(cd "$module" && $go tool -modfile="$tools" govulncheck ${GOVULNDB:+-db "$GOVULNDB"} "${@:-./...}") >>"$out" 2>&1 || {
		ended=$?
		[ "$status" = 3 ] || status=$ended # what one module has counts, whatever the next one answers
	}
done
cat "$out"
case $status in
0) ;;
3) # It found some.
	echo "vulnerabilities that Pigeon's code reaches; upgrade the modules named, or take their fixed versions by 'go get'" >&2
	exit 1
	;;
*)
	if grep -q 'fetching vulnerabilities' "$out"; then
		echo "LEFT OUT: the database of vulnerabilities cannot be had here; GOVULNDB names a copy"
	else
		exit "$status"
	fi
	;;
esac
