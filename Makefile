# Pigeon. `make help` lists what there is; `make run` shows it at work.
#
# Needed: Go (the version in go.mod). Better with: a C compiler, for the race
# detector; the Thrift compiler 0.17.0, to change the IDL.

GO      ?= go
BIN     := bin/pigeon
OUT     := out
TRACES  ?= $(or $(PIGEON_TRACES),../shared/traces)
TOOL    := $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 10s
RUNS    ?= 3
ROUNDS  ?= 10
MVN     ?= mvn

# The packages whose benchmarks make the table of results: cores and queues, the
# simulator, the journal, the wire.
BENCHED ?= ./internal/... ./internal/sim ./frontend/... ./master/... ./nodemonitor/... ./thrift/...

# A test that hangs is stopped, with the stacks of all goroutines.
TESTFLAGS ?= -timeout 20m

# Of the same Go, which need not be on the path.
GOFMT = $$($(GO) env GOROOT)/bin/gofmt

# The sources that people write.
GOFILES = $(shell find . -name '*.go' -not -path './thrift/gen/*')

export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help need-go build run ec2 chaos results bench-sim model table test vet fmt fmt-check fuzz bench spark test-spark spark-demo bench-spark test-spark-cli spark-compile spark-wheel spark-wheels test-spark-lines test-spark-faults test-spark-suites test-spark-full spark-suites-table lint generate generate-check configs watch clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

need-go:
	@GO="$(GO)" sh tools/need-go.sh

build: need-go ## compile bin/pigeon, without C
	$(GO) build -o $(BIN) ./cmd/pigeon

run: build ## schedule a mix of short and long jobs live on this machine, then show the result
	$(BIN) replay --demo

ec2: build ## the paper's EC2 experiment, live and simulated, loads 50, 70 and 90 % (RUNS=3 each: 80 minutes)
	bench/ec2.sh $(BIN) $(TRACES) $(OUT)/ec2 $(RUNS)

chaos: need-go ## kill daemons of every role, ROUNDS=10 times each, while a workload runs: nothing may be lost
	$(GO) test ./bench/replay -run '^TestNothingIsLost$$' -v -count 1 -timeout 30m -rounds $(ROUNDS)

COMPARED = files steady-ngo steady-nyh steady-exp google options-ngo options-nyh uneven mistakes mistakes-nyh
results: build ## docs/results.md from simulated comparisons of all policies (half an hour, once: out/results keeps them)
	bench/results.sh $(BIN) $(TRACES) $(OUT)/results
	@test -s $(OUT)/results/speed.md || $(MAKE) --no-print-directory bench-sim
	$(BIN) compare results --beside docs/results --with $(OUT)/results/speed.md --with $(OUT)/results/model.md $(addprefix --see ,$(wildcard docs/results-*.md)) \
		$(addprefix $(OUT)/results/,$(COMPARED)) > $(OUT)/results/page.md
	mv $(OUT)/results/page.md docs/results.md
	cp $(OUT)/results/model/figure3.png $(OUT)/results/model/figure4.png docs/results/

bench-sim: build ## time and memory of every policy in the simulator, RUNS=3 of each (three minutes)
	@mkdir -p $(OUT)/results
	$(BIN) bench sim --traces $(TRACES) --runs $(RUNS) > $(OUT)/results/speed.tmp
	@mv $(OUT)/results/speed.tmp $(OUT)/results/speed.md && cat $(OUT)/results/speed.md

model: build ## figures 3 and 4 of the paper, the formulas beside simulation, to out/model (some minutes)
	$(BIN) model --simulate 10000 --out $(OUT)/model

table: need-go ## what pigeon-sort and pigeon-x gain over pigeon, simulated with 15 seeds (five minutes)
	$(GO) test ./internal/sim -run 'OverPigeon|NearTheBound|Variants' -count=1 -v -seeds 15 -timeout 60m

test: need-go fmt-check vet ## all tests, with the race detector where a C compiler is and with Spark where a JDK is
	@GO="$(GO)" TESTFLAGS="$(TESTFLAGS)" sh tools/test.sh
	@GO="$(GO)" MVN="$(MVN)" MAKE="$(MAKE)" TESTFLAGS="$(TESTFLAGS)" sh tools/test-spark.sh

# The plugin is compiled for Scala 2.12 with Spark 3.5, and once on 4.0 for all of 4.0 to 4.2.
# A driver that runs has its jar open: another one takes its place, it is not written over.
SPARK_LINES = 3.5 4.0
spark: ## the plugin for Spark, sparkplugin/dist/*.jar (needs JDK 17 and Maven; three minutes, the first time ten)
	@MVN=$(MVN) sh tools/need-maven.sh
	@mkdir -p sparkplugin/dist
	cd sparkplugin && for line in $(SPARK_LINES); do $(MVN) -B -q -ntp -Pspark-$$line -DskipTests package || exit 1; done
	for jar in $(foreach line,$(SPARK_LINES),sparkplugin/target/spark-$(line)/pigeon-spark-*_*.jar); do \
		cp $$jar sparkplugin/dist/.new && mv sparkplugin/dist/.new sparkplugin/dist/$${jar##*/} || exit 1; done

test-spark: ## unit tests of the plugin for Spark (needs JDK 17 and Maven)
	@MVN=$(MVN) sh tools/need-maven.sh
	cd sparkplugin && $(MVN) -B -q -ntp -Pspark-4.0 test

# Installations of Spark, a folder for each version; the demo, the measurements and CI
# use the first.
SPARKS := $(or $(PIGEON_SPARK_HOMES),$(OUT)/spark)
SPARK_VERSION ?= 4.1.4
WHEEL := $(SPARKS)/$(SPARK_VERSION)

spark-wheel: build ## PySpark in out/spark, 400 MB from PyPI (SPARK_VERSION=4.1.4)
	@$(BIN) spark setup --version $(SPARK_VERSION) $(WHEEL)

spark-demo: spark-wheel ## three Spark drivers at once: on Pigeon, then on Spark standalone; who waits how long (five minutes, the first time ten)
	@$(MAKE) --no-print-directory spark SPARK_LINES=4.0
	python3 -B tools/spark-demo/demo.py $(BIN) $(WHEEL)/lib/python3*/site-packages/pyspark $(OUT)/spark-demo

bench-spark: spark-wheel ## Spark on Pigeon against Spark standalone: limits, ratios, spreads (RUNS=3; half an hour on a quiet machine)
	@$(MAKE) --no-print-directory spark SPARK_LINES=4.0
	@rm -rf $(OUT)/bench-spark && mkdir -p $(OUT)/bench-spark
	SPARK_HOME=$$(echo $(WHEEL)/lib/python3*/site-packages/pyspark) $(BIN) bench spark --repeats $(RUNS) --data $(OUT)/bench-spark > $(OUT)/bench-spark/table.md
	@cat $(OUT)/bench-spark/table.md

test-spark-cli: spark-wheel ## 'pigeon spark' with a real Spark; on a cluster too where 'make spark' was run
	$(GO) test ./cmd/pigeon -run '^TestRealSpark' -v -count 1 -timeout 20m

# One version of each line of Spark that the plugin serves. Wheels lie in a folder each,
# with pandas, for the UDFs that want it.
LINES = 3.5 4.0 4.1 4.2
VERSION_3.5 ?= 3.5.9
VERSION_4.0 ?= 4.0.5
VERSION_4.1 ?= 4.1.4
VERSION_4.2 ?= 4.2.1
PANDAS ?= 'pandas>=2.2,<3' 'pyarrow>=18'

spark-compile: ## compile the plugin against every line of Spark: LINES='3.5 4.0 4.1 4.2' (needs JDK 17 and Maven)
	@MVN=$(MVN) sh tools/need-maven.sh
	cd sparkplugin && for line in $(LINES); do echo "the plugin on Spark $$line"; $(MVN) -B -q -ntp -Pspark-$$line compile || exit 1; done

spark-wheels: build ## PySpark of every line in out/spark, 400 MB each: LINES=4.1 for one
	@for version in $(foreach line,$(LINES),$(VERSION_$(line))); do \
		$(BIN) spark setup --version $$version $(SPARKS)/$$version || exit 1; \
		$(SPARKS)/$$version/bin/python3 -m pip install -q --disable-pip-version-check $(PANDAS) || exit 1; done

test-spark-lines: build spark spark-wheels ## unmodified applications on every line of Spark, features on 4.1; then docs/spark-lines.md (an hour)
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./internal/sparktest/applications -v -count 1 -timeout 3h \
		-full -lines '$(LINES)' -table $(abspath docs/spark-lines.md)

test-spark-faults: build spark ## every process of a Spark application killed or stopped in each phase; bad input (half an hour)
	@$(MAKE) --no-print-directory spark-wheels LINES=4.1
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./internal/sparktest/refusals -v -count 1 -timeout 1h
	PIGEON_SPARK_HOMES=$(abspath $(SPARKS)) $(GO) test ./internal/sparktest/faults -v -count 1 -timeout 3h -full

SUITES = python3 -B tools/spark-suites/run.py
test-spark-suites: build spark ## a short choice of Spark's own tests on real daemons (four minutes)
	python3 -B -m unittest discover -q -s tools/spark-suites
	$(SUITES) --modes grants,coarse --short $(OUT)/spark-suites

test-spark-full: build spark ## Spark's own test suites: grants, coarse, local-cluster; then docs/spark-suites.md (two hours; continues where it was ended)
	$(SUITES) $(SUITES_FLAGS) $(OUT)/spark-suites; status=$$?; $(MAKE) --no-print-directory spark-suites-table && exit $$status

spark-suites-table: ## docs/spark-suites.md from the results that are kept
	python3 -B tools/spark-suites/table.py $(OUT)/spark-suites > $(OUT)/spark-suites/table.md
	mv $(OUT)/spark-suites/table.md docs/spark-suites.md

vet:
	$(GO) vet ./...

fmt: ## format the sources
	@$(GOFMT) -w $(GOFILES)

fmt-check:
	@bad=$$($(GOFMT) -l $(GOFILES)); if [ -n "$$bad" ]; then \
		echo "not formatted (run 'make fmt'):"; echo "$$bad"; exit 1; fi >&2

fuzz: need-go ## every fuzz target for FUZZTIME (10s) each
	@GO="$(GO)" sh tools/fuzz.sh $(FUZZTIME)

bench: build ## the measures of speed and memory, medians and spreads (RUNS=3; half an hour)
	@mkdir -p $(OUT)/bench
	$(BIN) bench table --runs $(RUNS) | tee $(OUT)/bench/table.md
	$(GO) test -run '^$$' -bench . -benchmem -count 6 -timeout 60m $(BENCHED) | tee $(OUT)/bench/go.txt
	$(TOOL) benchstat $(OUT)/bench/go.txt | tee $(OUT)/bench/benchstat.txt

lint: need-go ## golangci-lint; every check that is off has its reason in .golangci.yml
	$(TOOL) golangci-lint run ./...

generate: need-go ## Go and Java from the Thrift IDL (needs thrift 0.17.0), and configs/
	@command -v thrift >/dev/null || { echo "make generate: the Thrift compiler is missing; install it: apt-get install thrift-compiler" >&2; exit 2; }
	thrift/generate.sh
	sh tools/spark-thrift.sh
	@$(MAKE) --no-print-directory configs

generate-check: ## is the committed code what the IDL gives?
	@command -v thrift >/dev/null || { echo "make generate-check: the Thrift compiler is missing; install it: apt-get install thrift-compiler" >&2; exit 2; }
	thrift/generate.sh check
	sh tools/spark-thrift.sh check

configs: build ## write the commented file of every role to configs/
	@mkdir -p configs
	@for role in $$($(BIN) config roles); do $(BIN) config write $$role > configs/$$role.yaml && echo "configs/$$role.yaml"; done

watch: need-go ## run the tests of what changes, as it changes
	$(TOOL) gotestsum --watch

clean: ## remove what make produced
	rm -rf bin $(OUT)
