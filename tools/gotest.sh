#!/bin/sh
# 'go test' with the arguments given. When it failed, its output ends with what failed
# and why: the stacks of a test that hangs are thousands of lines, and those of other
# packages come after them.
set -eu

log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT

{
	status=0
	"${GO:-go}" test "$@" 2>&1 || status=$?
	echo "$status" >"$log.status"
} | tee "$log"
read -r status <"$log.status"
[ "$status" = 0 ] && exit 0

printf '\n== what failed, once more\n'
awk '
	/^[ \t]*--- FAIL/ || /^WARNING: DATA RACE/ || /^panic: / { part = 1 }
	/^goroutine / || /^[^ \t-]/ && !/^panic: / && !/^WARNING: / { part = 0 }
	/^FAIL[ \t]/ || /^# / || /^[^ \t].*\.go:[0-9]+:[0-9]+: / || part { print substr($0, 1, 1000) }
' "$log" | tail -n 150
exit "$status"
