# Pigeon. `make help` lists the targets; `make run` shows Pigeon at work.
#
# Needed: Go (the version in go.mod). Optional: a C compiler, for the race
# detector; a JDK and Maven, for the plugin for Spark; Python 3.10, for the client
# for Python; the Thrift compiler 0.17.0, to change the IDL.

GO      ?= go
BIN     := bin/pigeon
BENCH   := bin/pigeon-bench
OUT     := out
TRACES  ?= $(or $(PIGEON_TRACES),../shared/traces)
TOOL    := $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 10s
CHECK   ?= 1m
CHECK_SOAK ?= 30s
SOAK_TASKS ?= 10000000
RUNS    ?= 3
CHAOS_SEEDS    ?= 1 2 3 4 5
CHAOS_POLICIES ?= pigeon pigeon-sort pigeon-x sparrow hawk eagle peacock kairos fifo priority random
CHAOS_MINUTES  ?= 4
CHAOS_RATE     ?= 0.8
MVN     ?= mvn

# The packages with benchmarks of 'make bench': cores and queues, the simulator,
# the journal, the wire.
BENCHED ?= ./internal/... ./frontend/... ./master/... ./nodemonitor/... ./thrift/...

# The time limit is for tests that hang: go test then prints all goroutines.
TESTFLAGS ?= -timeout 20m

# The gofmt of the same Go, which need not be on the path.
GOFMT = $$($(GO) env GOROOT)/bin/gofmt

# The sources that people write.
GOFILES = $(shell find . -name '*.go' -not -path './thrift/gen/*')

# Installations of Spark, a folder for each version; the demo, the measurements and CI
# use SPARK_VERSION.
SPARKS := $(or $(PIGEON_SPARK_HOMES),$(OUT)/spark)
SPARK_VERSION ?= 4.3.0
WHEEL := $(SPARKS)/$(SPARK_VERSION)

# The plugin's jars that 'make spark' builds: 4.3 has its own, 4.0 that for Spark 4.0 to 4.2,
# 3.5 that for Scala 2.12.
SPARK_LINES = 4.3
EVERY_JAR = 4.3 4.0 3.5

# A version of each line of Spark that the plugin supports, and what its Python needs
# for the UDFs and the Connect of the tests.
LINES = 3.5 4.0 4.1 4.2 4.3
VERSION_3.5 ?= 3.5.9
VERSION_4.0 ?= 4.0.5
VERSION_4.1 ?= 4.1.4
VERSION_4.2 ?= 4.2.1
VERSION_4.3 ?= 4.3.0
PANDAS ?= 'pandas>=2.2,<3' 'pyarrow>=18' grpcio grpcio-status googleapis-common-protos zstandard

# Ansible of its own, from PyPI, for the tests of the role in deploy/ansible.
ANSIBLE = $(OUT)/ansible/bin/ansible-playbook
ANSIBLE_VERSION ?= 2.19.14

export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Use

build: need-go ## compile bin/pigeon, without C
	$(GO) build -o $(BIN) ./cmd/pigeon

lab: build ## compile bin/pigeon-bench, the laboratory: compare, replay, measure, break
	cd bench && $(GO) build -o $(abspath $(BENCH)) ./cmd/pigeon-bench

run: lab ## schedule short and long jobs live on this machine, then show the result
	$(BENCH) replay --demo

configs: build ## write the commented configuration file of every daemon to configs/, and docs/limits.md
	@mkdir -p configs
	@for role in $$($(BIN) config roles); do $(BIN) config write $$role > configs/$$role.yaml && echo "configs/$$role.yaml"; done
	$(GO) test ./cmd/pigeon/connect -run '^TestLimitsPage$$' -update

##@ Test

test: need-go ## all tests, the long ones shortened: 7 minutes on two cores (lists what it leaves out)
	@GO="$(GO)" MVN="$(MVN)" MAKE="$(MAKE)" OUT="$(OUT)" WHEEL="$(WHEEL)" TESTFLAGS="$(TESTFLAGS)" sh tools/test.sh short

test-long: need-go ## what 'make test' leaves out: long tests in full, Spark's own suites, Spark applications
	@GO="$(GO)" MVN="$(MVN)" MAKE="$(MAKE)" OUT="$(OUT)" WHEEL="$(WHEEL)" TESTFLAGS="$(TESTFLAGS)" sh tools/test.sh long

test-all: test test-long ## all tests in full: make test, then make test-long

lint: need-go ## golangci-lint for Go; scalastyle for the plugin, where Maven is
	$(TOOL) golangci-lint run ./...
	cd deploy && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...
	cd bench && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...
	cd bench/peers && $(GO) tool -modfile=../../tools/go.mod golangci-lint run ./...
	@if MVN=$(MVN) sh tools/need-maven.sh 2>/dev/null; then $(MAKE) --no-print-directory lint-spark; \
		else echo "Left out: scalastyle (no JDK or no Maven)"; fi

fuzz: need-go ## run every fuzz target for FUZZTIME=10s; FUZZPART=2/3: every third, from the second on
	@GO="$(GO)" sh tools/fuzz.sh $(FUZZTIME) $(FUZZPART)

check: lab ## simulated faults under all policies for CHECK=1m: no job may be lost, no attempt number may start twice; half a minute of the soak, shown only
	$(BENCH) faults --for $(CHECK)
	-$(BENCH) soak --for $(CHECK_SOAK)

soak: lab ## SOAK_TASKS=10000000 tasks while nodes come and go under 100 names: no daemon may keep growing (some minutes)
	@mkdir -p $(OUT)
	$(BENCH) soak --tasks $(SOAK_TASKS) | tee $(OUT)/soak.md; grep -q '^flat' $(OUT)/soak.md

chaos: build ## real processes under overlapping faults, every policy and CHAOS_SEEDS; writes bench/results/reliability.md (four hours; resumes); BESIDE=COMMIT or last: that version alongside this one; BINARY=COMMIT; STANDBYS=1; SPARK=N applications
	@mkdir -p $(OUT)/chaos
	@[ -z '$(SPARK)' ] || { $(MAKE) --no-print-directory spark-wheel && $(MAKE) --no-print-directory spark && cp sparkplugin/dist/*.jar $(OUT)/chaos/; }
	GO='$(GO)' sh tools/wallshift.sh $(OUT)/chaos/pigeon
	cp $(BENCH) $(OUT)/chaos/
	GO='$(GO)' SEEDS='$(CHAOS_SEEDS)' POLICIES='$(CHAOS_POLICIES)' MINUTES=$(CHAOS_MINUTES) RATE=$(CHAOS_RATE) BESIDE='$(BESIDE)' BINARY='$(BINARY)' STANDBYS='$(STANDBYS)' KINDS='$(KINDS)' \
		SPARK='$(SPARK)' $(if $(SPARK),SPARK_HOME=$$(echo $(abspath $(WHEEL))/lib/python3*/site-packages/pyspark)) sh tools/chaos.sh $(OUT)/chaos/pigeon-bench $(OUT)/chaos bench/results/reliability.md

failover: lab ## how long a cluster stands still when machines die, 20 times each; writes bench/results/failover.md (a quarter of an hour)
	@mkdir -p $(OUT)
	$(BENCH) failover --runs $(or $(RUNS),20) > $(OUT)/failover.md
	mv $(OUT)/failover.md bench/results/failover.md

chaos-short: need-go ## the same for a minute, under pigeon (part of make test-long)
	cd bench && $(GO) test ./chaos -run '^TestNothingIsLost' -v -count 1 -timeout 20m

TESTBED = cd deploy && $(GO) run ./testbed -program $(abspath $(BIN)) -playbook $(abspath $(ANSIBLE)) $(if $(filter true,$(CI)),-must)
cluster-test: build ansible ## HOSTS=3 hosts of namespaces: the Ansible role installs, upgrades under load, replaces, removes (needs root and sshd; some minutes)
	$(TESTBED) -hosts $(or $(HOSTS),3)

hosts-replay: lab ansible ## the paper's experiment (ngo_90, 120 workers, 10 frontends, 3 masters) on HOSTS=24 hosts of namespaces, compared with the simulator; ends with 1 above 5 % short, 2 % long (ten minutes on a quiet machine)
	$(TESTBED) -hosts $(or $(HOSTS),24) -security insecure -bench $(abspath $(BENCH)) -trace $(abspath $(or $(TRACE),$(TRACES)/ngo_90.tr)) -speedup $(or $(SPEEDUP),1)

watch: need-go ## run the tests of each package whenever it changes
	$(TOOL) gotestsum --watch

##@ Measure

bench: lab ## speed and memory, medians and spreads of RUNS=3 (half an hour)
	@mkdir -p $(OUT)/bench
	$(BENCH) table --runs $(RUNS) | tee $(OUT)/bench/table.md
	$(GO) test -run '^$$' -bench . -benchmem -count 6 -timeout 60m $(BENCHED) | tee $(OUT)/bench/go.txt
	$(TOOL) benchstat $(OUT)/bench/go.txt | tee $(OUT)/bench/benchstat.txt

bench-reuther: lab ## programs as tasks compared with the floor, xargs and GNU parallel, after Reuther et al., RUNS=3; writes out/reuther.md (a quarter of an hour on a quiet machine)
	@mkdir -p $(OUT)
	$(BENCH) reuther --rounds $(RUNS) --doc $(OUT)/reuther.md

PEERS ?= floor,pigeon,pigeon-dev,xargs,parallel,asynq,river
peers: lab bin/peers ## the same, also compared with asynq and River, which it installs (root), RUNS=3 (half an hour on a quiet machine)
	sh tools/peers.sh
	@mkdir -p $(OUT)
	$(BENCH) reuther --peers $(PEERS) --work 20s --durations 0s,100ms,500ms --rounds $(RUNS) --doc $(OUT)/reuther.md

bin/peers: $(wildcard bench/peers/*.go) bench/peers/go.mod bench/peers/go.sum
	cd bench/peers && $(GO) build -o $(abspath bin/peers) .

COMPARED = files steady-ngo steady-nyh steady-exp google options-ngo options-nyh uneven mistakes mistakes-nyh
results: lab ## bench/results/simulated.md: simulated comparisons of all policies (three quarters of an hour; out/results keeps them)
	bench/results.sh $(BENCH) $(TRACES) $(OUT)/results
	$(BENCH) compare results --beside bench/results/simulated --with bench/results/simulated/speed.md --with $(OUT)/results/model.md $(addprefix --see bench/results/,live.md spark.md tail.md) \
		$(addprefix $(OUT)/results/,$(COMPARED)) > $(OUT)/results/page.md
	mv $(OUT)/results/page.md bench/results/simulated.md
	cp $(OUT)/results/model/figure3a.png $(OUT)/results/model/figure3b.png bench/results/simulated/

table: need-go ## the gains of pigeon-sort and pigeon-x over pigeon, simulated with 15 seeds (five minutes)
	$(GO) test ./internal/sim -run 'OverPigeon|NearTheBound|Variants' -count=1 -v -seeds 15 -timeout 60m

model: lab ## figures 3 and 4 of the paper, formulas and simulation, in out/model (some minutes)
	$(BENCH) model --simulate 10000 --out $(OUT)/model

ec2: lab ## the paper's EC2 experiment, live and simulated, loads 50, 70 and 90 %, RUNS=3 (80 minutes)
	bench/ec2.sh $(BENCH) $(TRACES) $(OUT)/ec2 $(RUNS)

##@ Spark (needs JDK 17 and Maven)

# Maven Central has no Spark 4.3; PyPI has.
SPARK_JARS = PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) sh tools/spark-jars.sh $(VERSION_4.3) sparkplugin/target/jars-4.3

# A running driver has its jar open: a new file replaces the jar, which is never
# written over.
spark: need-maven ## build the plugin's jar for the newest Spark, sparkplugin/dist/*.jar (two minutes): SPARK_LINES='4.3 4.0 3.5' for all three
	@mkdir -p sparkplugin/dist
	@$(if $(filter 4.3,$(SPARK_LINES)),$(SPARK_JARS))
	cd sparkplugin && for line in $(SPARK_LINES); do $(MVN) -B -q -ntp -Pspark-$$line -Dmaven.test.skip=true -DskipTests package || exit 1; done
	for jar in $(foreach line,$(SPARK_LINES),sparkplugin/target/spark-$(line)/pigeon-spark-*_*.jar); do \
		cp $$jar sparkplugin/dist/.new && mv sparkplugin/dist/.new sparkplugin/dist/$${jar##*/} || exit 1; done

spark-compile: need-maven ## compile the plugin for every line of Spark: LINES='3.5 4.2'
	@$(if $(filter 4.3,$(LINES)),$(SPARK_JARS))
	cd sparkplugin && for line in $(LINES); do echo "the plugin on Spark $$line"; $(MVN) -B -q -ntp -Pspark-$$line compile || exit 1; done

spark-wheel: build ## install PySpark in out/spark, 460 MB from PyPI (SPARK_VERSION=4.3.0)
	@$(BIN) spark setup --version $(SPARK_VERSION) $(WHEEL)

spark-wheels: build ## install PySpark of every line in out/spark, 460 MB each: LINES=4.3 for one
	@for version in $(foreach line,$(LINES),$(VERSION_$(line))); do \
		$(BIN) spark setup --version $$version $(SPARKS)/$$version || exit 1; \
		$(SPARKS)/$$version/bin/python3 -m pip install -q --disable-pip-version-check $(PANDAS) || exit 1; done

spark-demo: spark-wheel ## three Spark drivers at once, on Pigeon and on Spark standalone (five minutes, the first time ten)
	@$(MAKE) --no-print-directory spark
	python3 -B tools/spark-demo/demo.py $(BIN) $(WHEEL)/lib/python3*/site-packages/pyspark $(OUT)/spark-demo

bench-spark: lab spark-wheel ## Spark on Pigeon against Spark standalone, RUNS=3 (a quarter of an hour on a quiet machine)
	@$(MAKE) --no-print-directory spark
	@rm -rf $(OUT)/bench-spark && mkdir -p $(OUT)/bench-spark
	SPARK_HOME=$$(echo $(WHEEL)/lib/python3*/site-packages/pyspark) $(BENCH) spark --repeats $(RUNS) --data $(OUT)/bench-spark > $(OUT)/bench-spark/table.md
	@cat $(OUT)/bench-spark/table.md

lint-spark: need-maven ## scalastyle, with Spark's usual rules
	cd sparkplugin && $(MVN) -B -q -ntp -Pspark-4.0 scalastyle:check

test-spark: lint-spark ## style and unit tests of the plugin
	cd sparkplugin && $(MVN) -B -q -ntp -Pspark-4.0 test

test-spark-cli: spark-wheel ## 'pigeon spark' with a real Spark; on a cluster too after 'make spark'
	$(GO) test ./cmd/pigeon -run '^TestRealSpark' -v -count 1 -timeout 20m

test-spark-lines: build spark-wheels ## applications on every line of Spark, features on 4.3; writes bench/results/spark-lines.md (an hour)
	@$(MAKE) --no-print-directory spark SPARK_LINES='$(EVERY_JAR)'
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./sparkplugin/sparktest/applications -v -count 1 -timeout 3h \
		-full -lines '$(LINES)' -table $(abspath bench/results/spark-lines.md)

test-spark-faults: build ## kill or stop every process of a Spark application in each phase; bad input (half an hour)
	@$(MAKE) --no-print-directory spark-wheels LINES=4.3
	@$(MAKE) --no-print-directory spark SPARK_LINES='4.3 4.0'
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./sparkplugin/sparktest/refusals -v -count 1 -timeout 1h
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./sparkplugin/sparktest/faults -v -count 1 -timeout 3h -full

SUITES = python3 -B tools/spark-suites/run.py
test-spark-suites: build ## a choice of Spark's own tests on real daemons (four minutes)
	@$(MAKE) --no-print-directory spark SPARK_LINES=4.0
	python3 -B -m unittest discover -q -s tools/spark-suites
	$(SUITES) --modes grants,coarse --short $(OUT)/spark-suites

test-spark-full: build ## Spark's own suites: grants, coarse, local-cluster; writes bench/results/spark-suites.md (two hours; resumes)
	@$(MAKE) --no-print-directory spark SPARK_LINES=4.0
	$(SUITES) $(SUITES_FLAGS) $(OUT)/spark-suites; status=$$?; $(MAKE) --no-print-directory spark-suites-table && exit $$status

spark-suites-table: ## bench/results/spark-suites.md from the kept results
	python3 -B tools/spark-suites/table.py $(OUT)/spark-suites > $(OUT)/spark-suites/table.md
	mv $(OUT)/spark-suites/table.md bench/results/spark-suites.md

##@ Python (needs Python 3.10 with venv)

python: need-python ## build the wheel of the client for Python, out/python/dist
	@OUT=$(OUT) sh tools/python.sh wheel

test-python: need-python build ## types and tests of the client for Python, on a real cluster (a minute; the first time pip fetches 30 MB)
	@OUT=$(OUT) sh tools/python.sh test

test-python-long: need-python build ## its examples with Dask and Airflow, from PyPI (some minutes)
	@OUT=$(OUT) sh tools/python.sh test-long

##@ Traces

JAEGER = $(OUT)/jaeger-all-in-one
$(JAEGER): tools/jaeger/go.mod tools/jaeger/go.sum
	@mkdir -p $(OUT)
	cd tools/jaeger && $(GO) build -o $(abspath $(JAEGER)) github.com/jaegertracing/jaeger/cmd/all-in-one

jaeger: build need-go ## Jaeger from its Go module alongside 'pigeon dev', which sends it traces (the first time some minutes)
	@$(MAKE) --no-print-directory $(JAEGER)
	sh tools/jaeger/beside.sh $(JAEGER) $(BIN)

test-jaeger: need-go ## 1,000 jobs in a real Jaeger while daemons are killed: a tree for each (builds Jaeger the first time)
	@$(MAKE) --no-print-directory $(JAEGER)
	PIGEON_JAEGER=$(abspath $(JAEGER)) $(GO) test ./cluster -run '^TestJaeger$$' -v -count 1 -timeout 20m

##@ Release

release: need-go ## archives, deb, rpm, images, bills of materials, checksums in out/release, for this machine: VERSION=1.2.3 (a minute); PLATFORMS=linux/amd64,linux/arm64
	cd deploy/release && $(GO) run . -version '$(VERSION)' -out $(abspath $(OUT))/release -platforms '$(or $(PLATFORMS),linux/$(shell $(GO) env GOARCH))'

test-release: need-go ## packages installed and removed, units, images, licences, two releases compared, go install (three minutes)
	cd deploy && $(GO) test -count 1 -timeout 20m ./release

licenses: need-go ## the licences of what is in the program; fails on one that packaging/release.yaml does not allow
	cd deploy/release && $(GO) run . -licenses

vuln: need-go ## known vulnerabilities in what Pigeon calls, where their database can be had (GOVULNDB)
	@GO='$(GO)' sh tools/vuln.sh

##@ Maintain

fmt: ## format the Go sources
	@$(GOFMT) -w $(GOFILES)

metrics: need-go ## docs/metrics.md from the metrics that the daemons register
	$(GO) test ./internal/metricsdoc -update

roles: need-go ## the table of docs/security.md from internal/access
	$(GO) test ./internal/access -run '^TestSecurityPage$$' -update

json: need-go ## docs/json.md and bench/json.md from the types that commands print
	$(GO) test ./cmd/pigeon -run '^TestJSONPage$$' -update
	cd bench && $(GO) test ./cmd/pigeon-bench -run '^TestJSONPage$$' -update

generate: need-thrift need-go ## Go, Java and Python from the Thrift IDL (needs thrift 0.17.0), the encoding of the guard's messages, and configs/
	thrift/generate.sh
	sh tools/spark-thrift.sh
	GO=$(GO) sh tools/messages.sh
	@$(MAKE) --no-print-directory configs

generate-check: need-thrift need-go ## check that the committed code is what the IDL, and the guard's messages, generate
	thrift/generate.sh check
	sh tools/spark-thrift.sh check
	GO=$(GO) sh tools/messages.sh check

clean: ## remove what make produced
	rm -rf bin $(OUT)

vet:
	$(GO) vet ./...
	cd bench && $(GO) vet ./...
	cd deploy && $(GO) vet ./...

fmt-check:
	@bad=$$($(GOFMT) -l $(GOFILES)); if [ -n "$$bad" ]; then \
		echo "not formatted (run 'make fmt'):"; echo "$$bad"; exit 1; fi >&2

# Where it cannot be installed, the test bed reports that it is missing.
ansible:
	@[ -x $(ANSIBLE) ] || { rm -rf $(OUT)/ansible && python3 -m venv $(OUT)/ansible && $(OUT)/ansible/bin/pip install -q --disable-pip-version-check ansible-core==$(ANSIBLE_VERSION); } \
		|| { [ '$(CI)' != true ] || exit 1; }

need-go:
	@GO="$(GO)" sh tools/need-go.sh

need-maven:
	@MVN=$(MVN) sh tools/need-maven.sh

need-python:
	@sh tools/need-python.sh

need-thrift:
	@command -v thrift >/dev/null || { echo "the Thrift compiler is missing; install it: apt-get install thrift-compiler" >&2; exit 2; }
