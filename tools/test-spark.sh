#!/bin/sh
# The part of 'make test' that needs a JDK: the plugin's unit tests, a short choice of
# Spark's own suites, and Spark applications on real daemons. What is missing is said,
# with the command that installs it; in CI (CI=true) it is a failure.
set -eu

make="${MAKE:-make} --no-print-directory"

leave_out() {
	if [ "${CI:-}" = true ]; then
		echo "the tests with Spark cannot run, and they are part of what must pass: $1" >&2
		exit 1
	fi
	echo "Left out: all tests with Spark ($1)"
	exit 0
}

why=$(MVN="${MVN:-mvn}" sh tools/need-maven.sh 2>&1) || leave_out "$why"
python3 -c 'import venv, ensurepip' 2>/dev/null || leave_out "Python 3 with venv is missing; install it: apt-get install python3-venv"

go=${GO:-go}
cc=$("$go" env CC)
race=
if command -v "${cc%% *}" >/dev/null 2>&1; then
	race=-race
	export CGO_ENABLED=1
fi

$make test-spark
$make spark-wheel
$make test-spark-suites # and builds the plugin
# shellcheck disable=SC2086 # both are lists of words
GO=$go sh tools/gotest.sh $race ${TESTFLAGS:-} -p 1 -count 1 ./internal/sparktest/...
# shellcheck disable=SC2086
GO=$go sh tools/gotest.sh $race ${TESTFLAGS:-} -count 1 -run '^TestRealSpark' ./cmd/pigeon
