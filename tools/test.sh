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
out=$(cd "$out" && pwd)
tools=$PWD/tools/go.mod

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
# skipped tests at the end. Step 1 of the short run has vetted all packages. Without
# debugging information (-w) the linker takes half the time, for each of 100 packages;
# stack traces and the race detector do not need it.
gotest() {
	$go tool -modfile="$tools" gotestsum --format pkgname --format-hide-empty-pkg \
		--jsonfile "$out/$step.json" --raw-command -- "$go" test -json -vet=off -ldflags=-w ${TESTFLAGS:-} "$@"
}

# tests_of MODULE: import path and folder of each package with tests, but for those on a real Spark.
tests_of() {
	(cd "$1" && "$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...) | grep . | grep -v '/sparkplugin/sparktest[/ ]'
}

product=$(tests_of .) laboratory=$(tests_of bench)
tested=$product # the packages of the step that runs

# lab COMMAND...: the command for the packages of the laboratory, in its folder.
lab() { (cd bench && "$@"); }

# The race detector has nothing to find in a package that starts no goroutine, calls no
# server and has no parallel tests, and makes simulations ten times as long.
goroutine='^[[:space:]]*(defer )?go [[:alnum:]_.]+\(|\.Go\(|AfterFunc\(|t\.Parallel\(|"(testing/synctest|net/http/httptest|golang\.org/x/sync/errgroup)"|cluster\.Start|/(internal/daemontest|thrift/client)"'

# packages concurrent|sequential: the packages with or without goroutines.
packages() {
	echo "$tested" | while read -r package dir; do
		kind=sequential
		if grep -qE "$goroutine" "$dir"/*.go; then kind=concurrent; fi
		if [ "$kind" = "$1" ]; then echo "$package"; fi
	done
}

# shortened: reads packages, prints those with tests that do less with -short: with it, rapid.Check
# makes a fifth of its checks, each of half as many steps.
shortened() {
	while read -r package; do
		dir=$(echo "$tested" | sed -n "s|^$package ||p")
		if grep -qE 'testing\.Short\(\)|rapid\.Check\(' "$dir"/*_test.go; then echo "$package"; fi
	done
}

# long_tests: an expression for 'go test -run' with the tests that do less with -short,
# which call testing.Short, rapid.Check or a function of their package that does.
long_tests() {
	echo "$tested" | while read -r package dir; do
		cat "$dir"/*_test.go | awk '
			/^func / { name = $2; sub(/\(.*/, "", name) }
			/testing\.Short\(\)|rapid\.Check\(/ { short[name] }
			{ body[name] = body[name] $0 }
			END {
				for (test in body) {
					long = test in short
					for (f in short) long = long || index(body[test], f "(")
					if (long && test ~ /^Test/) print test
				}
			}'
	done | sort -u | tr '\n' '|' | sed 's/^/^(/; s/|$/)$/'
}

race=
cc=$("$go" env CC)
if command -v "${cc%% *}" >/dev/null 2>&1; then
	race=-race
else
	leave_out "the race detector: there is no C compiler (apt-get install gcc libc6-dev)"
fi

if ! command -v chromium >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1 && ! command -v google-chrome >/dev/null 2>&1; then
	leave_out "the page in a browser: there is no Chromium (apt-get install chromium)"
fi

spark=yes
if ! why=$(MVN="${MVN:-mvn}" sh tools/need-maven.sh 2>&1); then
	spark=
	leave_out "the tests with Spark: $why"
fi

python=
if [ "$length" = short ]; then
	if ! why=$(sh tools/need-python.sh 2>&1); then
		leave_out "the client for Python: $why"
	elif ! why=$(sh tools/python.sh environment 2>&1); then
		leave_out "the client for Python: pip cannot install what python/requirements-test.txt names: $(echo "$why" | tail -n 1)"
	else
		python=yes
	fi
fi

format_and_vet() { $make fmt-check vet; }

# The module of installing, which ./... does not have: releases, and the chart of Kubernetes.
release() { (cd deploy && "$go" test "$@" ${TESTFLAGS:-} ./release ./testbed); }

# The module of the peers of 'pigeon-bench reuther'; its program is what their tests start.
peers() { (cd bench/peers && "$go" vet ./... && "$go" test "$@" ${TESTFLAGS:-} ./...) && $make bin/peers; }

chart() { (cd deploy && "$go" test ${TESTFLAGS:-} ./helm-check); }

# A program that ends waits a second for other threads to report races: too long for 50
# packages, whose tests check that no goroutine is left.
with_race() { CGO_ENABLED=${race:+1} GORACE="atexit_sleep_ms=100 ${GORACE:-}" gotest $race "$@"; }

# The jar and a PySpark, for tests with a real Spark.
real_spark() { $make spark-wheel && $make spark; }

one_application() { real_spark && gotest -count 1 -run '^TestHarness$' ./sparkplugin/sparktest; }

summary() {
	printf '\n== all passed\n%s' "$times"
	if [ -n "$left" ]; then
		printf '\nLeft out on this machine:\n%s' "$left"
	fi
}

# shellcheck disable=SC2046 # lists of packages
case $length in
short)
	steps=8
	wheel=
	if [ -n "$spark" ]; then
		steps=9
		if [ "${CI:-}" = true ] || [ -d "$WHEEL" ]; then
			wheel=yes
			steps=10
		else
			left="$left  an application on a real Spark: no PySpark is installed (make spark-wheel, 460 MB)
"
		fi
	fi
	if [ -n "$python" ]; then steps=$((steps + 1)); fi
	run "format and go vet" format_and_vet
	run "peers of the laboratory: vet, tests, build" peers -short
	run "Go: packages without goroutines (-short)" gotest -short $(packages sequential)
	# Short tests of daemons wait more than they compute: four of a package run at a time.
	run "Go: packages with goroutines (-short${race:+, race detector})" with_race -short -parallel 4 $(packages concurrent)
	tested=$laboratory
	run "laboratory: packages without goroutines (-short)" lab gotest -short $(packages sequential)
	run "laboratory: packages with goroutines (-short${race:+, race detector})" lab with_race -short -parallel 4 $(packages concurrent)
	tested="$product
$laboratory"
	run "packages, units, images and licences (-short)" release -short
	run "chart for Kubernetes" chart
	if [ -n "$python" ]; then
		run "client for Python: types, wheel and tests on a real cluster" $make test-python
	fi
	if [ -n "$spark" ]; then
		run "plugin for Spark: style and unit tests" $make test-spark
	fi
	if [ -n "$wheel" ]; then
		run "one application on a real Spark" one_application
	fi
	summary
	printf '\nNot part of this run; make test-all runs it, make test-long runs it alone:\n'
	sed -n 's/.*"Action":"skip","Package":"[^"]*pigeon\/\([^"]*\)","Test":"\([^"/]*\)".*/  \1: \2/p' "$out"/*.json | sort -u
	echo "  with fewer rounds or cases here: $(echo "$tested" | cut -d' ' -f1 | shortened | sed 's|^[^/]*/[^/]*/[^/]*/||' | tr '\n' ' ')"
	echo "  deploy/release: two releases of one commit, and go install"
	echo "  the client for Python with Dask and Airflow (make test-python-long)"
	echo "  Spark's own test suites, and applications on a real Spark (needs a JDK, Maven, Python)"
	;;
long)
	steps=5
	again= # what make test has run here
	if [ -n "$spark" ]; then
		steps=8
		if [ "${CI:-}" = true ] || [ -d "$WHEEL" ]; then again='^TestHarness$'; fi
		run "Spark: the plugin's jar and PySpark" real_spark
	fi
	run "Go: long tests without goroutines" gotest -run "$(long_tests)" $(packages sequential | shortened)
	run "Go: long tests with goroutines${race:+ (race detector)}" with_race -run "$(long_tests)" $(packages concurrent | shortened)
	tested=$laboratory
	run "laboratory: long tests without goroutines" lab gotest -run "$(long_tests)" $(packages sequential | shortened)
	run "laboratory: long tests with goroutines${race:+ (race detector)}" lab with_race -run "$(long_tests)" $(packages concurrent | shortened)
	run "two releases of one commit, and go install" release -count 1 -run 'TestReleases|TestGoInstall|TestInstalledHost'
	if [ -n "$spark" ]; then
		run "Spark: a choice of Spark's own suites" $make test-spark-suites
		# Each cluster has its own folder and ports, and its Spark waits more than it computes: two run at a time.
		run "Spark: applications on real daemons" with_race -p 2 -count 1 -skip "$again" ./sparkplugin/sparktest/...
	fi
	summary
	;;
esac
