#!/bin/sh
# Runs all tests, and says what could not be part of it.
set -eu

go=${GO:-go}
cc=$("$go" env CC)
left=

# The cores and the simulator start no goroutine (internal/archtest holds the
# first to it), so the race detector has nothing to find there and would make
# their long simulations ten times as long.
single='/(bench/(model|sim)|internal/(policy|queue|ledger|sched|coretest))(/|$)'

# tools/test-spark.sh runs these.
spark='/internal/sparktest(/|$)'

# shellcheck disable=SC2046,SC2086 # all are lists of words
if command -v "${cc%% *}" >/dev/null 2>&1; then
	GO=$go sh tools/gotest.sh ${TESTFLAGS:-} $("$go" list ./... | grep -E "$single")
	CGO_ENABLED=1 GO=$go sh tools/gotest.sh -race ${TESTFLAGS:-} $("$go" list ./... | grep -vE "$single|$spark")
else
	left="the race detector (no C compiler; install one: apt-get install gcc libc6-dev)"
	GO=$go sh tools/gotest.sh ${TESTFLAGS:-} $("$go" list ./... | grep -vE "$spark")
fi

if [ -n "$left" ]; then
	echo "Left out: $left"
fi
