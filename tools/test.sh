#!/bin/sh
# Runs the tests, step by step: 'test.sh short' is 'make test', 'test.sh long' is
# what that leaves out ('make test-all' runs both). A step that cannot run on this
# machine is named at the end with what is missing; in CI (CI=true) it is a failure.
set -eu

length=$1
go=${GO:-go}
make="${MAKE:-make} --no-print-directory"
out=${OUT:-out}/test/$length
rm -rf "$out" && mkdir -p "$out"

step=0
times=
left=

# run NAME COMMAND...: one step; $steps says how many there are.
run() {
	name=$1
	shift
	step=$((step + 1))
	printf '\n== step %d of %d: %s\n' "$step" "$steps" "$name"
	begin=$(date +%s)
	status=0
	"$@" || status=$?
	took=$(($(date +%s) - begin))
	if [ "$status" != 0 ]; then
		printf '\n== step %d failed after %d s: %s\n' "$step" "$took" "$name" >&2
		exit 1
	fi
	times="$times$(printf '%5d s  %s' "$took" "$name")
"
}

leave_out() {
	if [ "${CI:-}" = true ]; then
		echo "part of what must pass in CI cannot run: $1" >&2
		exit 1
	fi
	left="$left  $1
"
}

# gotest ARGUMENTS...: 'go test', a line for each package as it ends, failures and
# skipped tests at the end.
gotest() {
	$go tool -modfile=tools/go.mod gotestsum --format pkgname --format-hide-empty-pkg \
		--jsonfile "$out/$step.json" --raw-command -- "$go" test -json ${TESTFLAGS:-} "$@"
}

# packages FILTER...: the packages without a real Spark, filtered by grep.
packages() {
	"$go" list ./... | grep -v '/internal/sparktest\(/\|$\)' | grep -E "$@" || true
}

# These packages start no goroutine (internal/archtest holds the cores to it), so
# the race detector has nothing to find in them, and would make their simulations
# ten times as long.
single='/(bench/(model|plot|workload)|internal/(policy|queue|ledger|sched|sim))(/|$)'

# Packages whose tests do less with -short.
shortened() {
	"$go" list $(grep -rl --include='*_test.go' 'testing\.Short()' . | grep -v '^./internal/sparktest/' | xargs -n 1 dirname | sort -u)
}

race=
cc=$("$go" env CC)
if command -v "${cc%% *}" >/dev/null 2>&1; then
	race=-race
else
	leave_out "the race detector: there is no C compiler (apt-get install gcc libc6-dev)"
fi

spark=yes
if ! why=$(MVN="${MVN:-mvn}" sh tools/need-maven.sh 2>&1); then
	spark=
	leave_out "the tests with Spark: $why"
fi

format_and_vet() { $make fmt-check vet; }
with_race() { CGO_ENABLED=${race:+1} gotest $race "$@"; }

# The jar and a PySpark, for tests with a real Spark.
real_spark() { $make spark SPARK_LINES=4.0 && $make spark-wheel; }

one_application() { real_spark && gotest -count 1 -run '^TestHarness$' ./internal/sparktest; }

summary() {
	printf '\n== all passed\n%s' "$times"
	if [ -n "$left" ]; then
		printf '\nLeft out on this machine:\n%s' "$left"
	fi
}

# shellcheck disable=SC2046 # lists of packages
case $length in
short)
	steps=3
	wheel=
	if [ -n "$spark" ]; then
		steps=4
		if [ "${CI:-}" = true ] || [ -d "$WHEEL" ]; then
			wheel=yes
			steps=5
		else
			left="$left  an application on a real Spark: no PySpark is installed (make spark-wheel, 400 MB)
"
		fi
	fi
	run "format and go vet" format_and_vet
	run "Go: cores and simulations (-short)" gotest -short $(packages "$single")
	run "Go: everything else (-short${race:+, race detector})" with_race -short $(packages -v "$single")
	if [ -n "$spark" ]; then
		run "plugin for Spark: style and unit tests" $make test-spark
	fi
	if [ -n "$wheel" ]; then
		run "one application on a real Spark" one_application
	fi
	summary
	printf '\nNot part of this run; make test-all runs it, make test-long runs it alone:\n'
	sed -n 's/.*"Action":"skip","Package":"[^"]*pigeon\/\([^"]*\)","Test":"\([^"/]*\)".*/  \1: \2/p' "$out"/*.json | sort -u
	echo "  with fewer rounds or cases here: $(shortened | sed 's|^[^/]*/[^/]*/[^/]*/||' | tr '\n' ' ')"
	echo "  Spark's own test suites, and applications on a real Spark (needs a JDK, Maven, Python)"
	;;
long)
	steps=2
	if [ -n "$spark" ]; then
		steps=5
		run "Spark: the plugin's jar and PySpark" real_spark
	fi
	run "Go: long simulations" gotest $(shortened | grep -E "$single")
	run "Go: long tests${race:+ (race detector)}" with_race $(shortened | grep -vE "$single")
	if [ -n "$spark" ]; then
		run "Spark: a choice of Spark's own suites" $make test-spark-suites
		run "Spark: applications on real daemons" with_race -p 1 -count 1 ./internal/sparktest/...
	fi
	summary
	;;
esac
