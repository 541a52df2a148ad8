package main

import (
	"flag"
	"reflect"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/check"
	"github.com/pigeon-sched/pigeon/bench/compare"
	"github.com/pigeon-sched/pigeon/bench/failover"
	"github.com/pigeon-sched/pigeon/bench/fairness"
	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/reuther"
	"github.com/pigeon-sched/pigeon/bench/soak"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/clitest"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

var update = flag.Bool("update", false, "write bench/json.md")

const jsonPage = "../../json.md"

func printedObjects() []clitest.JSONOutput {
	return []clitest.JSONOutput{
		{Verb: "sim", When: "for each policy and seed", Of: reflect.TypeFor[measure.Result]()},
		{Verb: "replay", When: "for each live run, then with --compare-sim for the simulation", Of: reflect.TypeFor[measure.Result]()},
		{Verb: "compare", When: "for each run", Of: reflect.TypeFor[compare.Record]()},
		{Verb: "model", When: "for each policy, group size and load", Of: reflect.TypeFor[compare.ModelPoint]()},
		{Verb: "latency", Of: reflect.TypeFor[launch.LatencyResult]()},
		{Verb: "launch", Of: reflect.TypeFor[launch.RateResult]()},
		{Verb: "fair", Of: reflect.TypeFor[fairness.Result]()},
		{Verb: "faults", Of: reflect.TypeFor[check.Result]()},
		{Verb: "chaos", When: "for each run", Of: reflect.TypeFor[chaos.Result]()},
		{Verb: "soak", Of: reflect.TypeFor[soak.Result]()},
		{Verb: "failover", Of: reflect.TypeFor[failover.Result]()},
		{Verb: "reuther", Of: reflect.TypeFor[reuther.Result]()},
		{Verb: "trace inspect", Of: reflect.TypeFor[summary]()},
		{Verb: "trace list", When: "for each trace", Of: reflect.TypeFor[publishedTrace]()},
		{Verb: "version", Of: reflect.TypeFor[cli.Version]()},
	}
}

// TestJSONPage: bench/json.md is generated from the types of this program.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	page := clitest.JSONPage{Program: "pigeon-bench", Main: "bench/cmd/pigeon-bench", Introduction: jsonIntroduction, Outputs: printedObjects()}
	page.Check(t, newRoot(), jsonPage, *update)
}

const jsonIntroduction = `# JSON of the laboratory

Written by ` + "`make json`" + ` from the types of the program; do not edit it.

With ` + "`-o json`" + ` these verbs of pigeon-bench print one JSON object a line (JSON Lines) on standard output, and nothing else there: %s.
The conventions are those of [the commands of pigeon](../docs/json.md).

The histories of ` + "`sim --history`, `replay --history`" + ` and of frontends are JSON Lines too: ` + "`time`" + ` (seconds from the start), ` + "`job`, `task` and `attempt`" + ` (not of a whole job), ` + "`event`" + ` and ` + "`where`" + ` (such as "worker 3"). Events of a job are submitted, completed, failed and cancelled;
of a task launched, started, suspended, resumed, ended and reported, of which live histories have started and reported, and how an attempt ended that another one followed: failed, lost or yielded. The file of a frontend has an event origin for each of its starts: ` + "`where`" + ` is the instant of time 0.

`
