#!/bin/sh
# Runs all tests, and says what could not be part of it.
set -eu

go=${GO:-go}
cc=$("$go" env CC)
left=

# shellcheck disable=SC2086 # both are lists of words
if command -v "${cc%% *}" >/dev/null 2>&1; then
	CGO_ENABLED=1 "$go" test -race ${TESTFLAGS:-} ./...
else
	left="the race detector (no C compiler; install one: apt-get install gcc libc6-dev)"
	"$go" test ${TESTFLAGS:-} ./...
fi

if [ -n "$left" ]; then
	echo "Left out: $left"
fi
