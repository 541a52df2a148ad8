package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/internal/sparkhome/sparkhometest"
)

// replayDriver takes the place of spark-submit with the driver of a replay. Every
// task takes as long as it should, without sleeping.
const replayDriver = `#!/bin/sh
echo "driver: $*" >> "$SPARK_HOME/drivers"
jobs=""
case "$*" in *spark.x=dies*) echo "no memory left" >&2; exit 7;; esac
echo '{"ready":1,"application":"app"}'
while read -r command line class due estimate durations && [ "$command" != replay ]; do
	ran=$(echo $durations | tr ' ' ,)
	ones=$(echo $durations | sed 's/[0-9][0-9]*/1/g; s/ /,/g')
	names=$(echo $durations | sed 's/[0-9][0-9]*/"0"/g; s/ /,/g')
	longest=$(echo $durations | tr ' ' '\n' | sort -n | tail -n 1)
	jobs="$jobs {\"job\":$line,\"submitted\":$due,\"completion\":$longest,\"state\":\"completed\",\"reason\":\"\",\"reported\":[$ran],\"ran\":[$ran],\"attempts\":[$ones],\"executors\":[$names]}"
done
for record in $jobs; do echo "$record"; done
echo '{"seconds":1}'
`

// withSpark makes a Spark of the test's own that of this process.
func withSpark(t *testing.T, script string) *sparkhometest.Fake {
	t.Helper()
	f := sparkhometest.NewFake(t, "4.1.4", script, "spark-submit")
	for _, name := range []string{"SPARK_HOME", "JAVA_HOME", "XDG_RUNTIME_DIR", sparkhome.JarVariable} {
		t.Setenv(name, valueOf(f, name))
	}
	return f
}

func valueOf(f *sparkhometest.Fake, name string) string {
	for _, line := range f.Environ {
		if value, found := strings.CutPrefix(line, name+"="); found {
			return value
		}
	}
	return ""
}

// started returns the command lines of the drivers that were started.
func started(t *testing.T, f *sparkhometest.Fake) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Home, "drivers"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestReplayViaSparkRefusals(t *testing.T) {
	u := withSpark(t, replayDriver)
	for args, want := range map[string]string{
		"--via smoke":                                         `"smoke" does not exist; use thrift or spark`,
		"--drivers 2":                                         "--drivers is of Spark applications; add --via spark",
		"--via spark --drivers 0":                             "0 drivers are outside 1 to 256",
		"--via spark --drivers 21":                            "21 drivers cannot share 20 jobs",
		"--via spark --slots 3":                               "give a divisor of 2",
		"--via spark --slots 2 --frontend 127.0.0.1:1":        "the nodes of a running cluster",
		"--via spark --master pigeon://h:1":                   "give --frontend",
		"--via spark --master spark://h:1 --compare-sim":      "leave them out; a Pigeon is named by --frontend",
		"--via spark --spark-conf executor.memory=1g":         "write spark.NAME=VALUE",
		"--via spark --frontend 127.0.0.1:1":                  "127.0.0.1:1",
		"--via spark --spark-conf spark.x=dies --drivers 1":   "no job was submitted: driver 0 on this machine ended (exit status 7) before it was ready",
		"--via spark --spark-conf spark.x=dies --drivers  1 ": "no memory left",
	} {
		code, stdout, stderr := pigeonBench(t, strings.Fields("replay"+tiny+args)...)
		wantCode := cli.ExitUsage
		if strings.Contains(args, "dies") || want == "127.0.0.1:1" { // it does not answer
			wantCode = cli.ExitFailed
		}
		if code != wantCode || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("replay %s: status %d, want %d and %q\n%s%s", args, code, wantCode, want, stdout, stderr)
		}
	}
	for name, want := range map[string]string{"SPARK_HOME": "no installation of Spark", sparkhome.JarVariable: "the plugin's jar cannot be read"} {
		t.Setenv(name, "/nonesuch")
		if code, _, stderr := pigeonBench(t, strings.Fields("replay --via spark"+tiny)...); code != cli.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d\n%s", name, code, stderr)
		}
		t.Setenv(name, valueOf(u, name))
	}
}

// TestReplayViaSpark: on its own cluster, next to its simulation, with a history;
// every driver knows all frontends and has another one first.
func TestReplayViaSpark(t *testing.T) {
	u := withSpark(t, replayDriver)
	dir := t.TempDir()
	history := filepath.Join(dir, "history.jsonl")
	code, stdout, stderr := pigeonBench(t, strings.Fields("replay --via spark --drivers 3 -o json --compare-sim --history "+history+" --out "+dir+"/x"+tiny)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != cli.ExitDone || len(lines) != 2 {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	for i, mode := range []string{"live", "sim"} {
		var r struct {
			Mode, Policy                       string
			Workers, Groups, Completed, Failed int
			Attempts                           int
		}
		if err := json.Unmarshal([]byte(lines[i]), &r); err != nil || r.Mode != mode || r.Policy != "pigeon" || r.Workers != 4 || r.Groups != 2 || r.Completed != 20 || r.Failed != 0 || r.Attempts != 40 {
			t.Errorf("%+v, %v\n%s", r, err, lines[i])
		}
	}
	if text, err := os.ReadFile(history); err != nil || strings.Count(string(text), "\n") != 20*(1+2*2+1) || !strings.Contains(string(text), "driver 2, executor 0") {
		t.Errorf("history: %v\n%s", err, text)
	}
	first := map[string]bool{}
	for _, line := range started(t, u) {
		if !strings.Contains(line, " --jars "+u.Jar+" ") || !strings.HasSuffix(line, "spark-internal --executors 2 --within 120") {
			t.Error(line)
		}
		_, master, _ := strings.Cut(line, "spark-pigeon://")
		address, others, _ := strings.Cut(master, ",")
		first[address] = strings.HasPrefix(others, "127.0.0.1:")
	}
	if len(first) != 2 || slices.Contains(slices.Collect(maps.Values(first)), false) { // tiny has two, for three drivers
		t.Errorf("the drivers' first frontends are %v; true: others follow", first)
	}
}

// TestReplayViaSparkElsewhere: on a running cluster, and on another manager.
func TestReplayViaSparkElsewhere(t *testing.T) {
	u := withSpark(t, replayDriver)
	c, err := local.Start(t.Context(), local.Spec{Groups: []int{1, 2}, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, run := range []struct{ args, policy, driver string }{
		{"--frontend " + c.Frontends()[0], "pigeon", "--master spark-pigeon://" + c.Frontends()[0] + " "},
		{"--master spark://h:1 --workers 6 --spark-conf spark.executor.instances=5", "spark://h:1", "--conf spark.executor.instances=5 spark-internal --executors 5 "},
	} {
		code, stdout, stderr := pigeonBench(t, strings.Fields("replay --via spark --drivers 2 --trace gen:uniform,jobs=20,fanout=2 --speedup 20 -o json "+run.args)...)
		var r struct {
			Policy             string
			Workers, Completed int
		}
		if err := json.Unmarshal([]byte(stdout), &r); code != cli.ExitDone || err != nil || r.Policy != run.policy || r.Workers != 6 || r.Completed != 20 {
			t.Errorf("%s: status %d, %+v, %v\n%s%s", run.args, code, r, err, stdout, stderr)
		}
		all := started(t, u)
		if last := all[len(all)-1]; !strings.Contains(last, run.driver) || !strings.Contains(last, u.Jar) {
			t.Errorf("%s: %s", run.args, last)
		}
	}
	if n := strings.Count(strings.Join(started(t, u), "\n"), "--executors 3 "); n != 2 {
		t.Errorf("%d drivers wait for an executor on each of the three nodes, want 2", n)
	}
}
