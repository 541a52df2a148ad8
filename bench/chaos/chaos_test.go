package chaos

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/bench/spark/sparkreplay"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// TestMain: this test binary is the daemons, their guards and the programs of tasks.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == TaskVerb {
		os.Exit(TaskMain(os.Args[2:]))
	}
	// A task built with -race would otherwise sleep for a second between its last line and its exit,
	// and be killed there when its node is stopped.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	// The daemons are of this program.
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv(product.Variable, self)
	}
	if err != nil {
		panic(err)
	}
	clustertest.Main(m)
}

// TestNothingIsLostUnderFaults: half a minute of overlapping faults of all kinds that are
// possible here, with no contradiction in the end. `make chaos` runs longer programmes.
func TestNothingIsLostUnderFaults(t *testing.T) {
	underFaults(t, Options{Seed: 1, Lasts: 30 * time.Second, Rate: 0.7, Jobs: 2})
}

// TestNothingIsLostWithStandbys: the same with a cluster with standbys, whose machines do
// not all return.
func TestNothingIsLostWithStandbys(t *testing.T) {
	kinds := []string{history.Machine, history.NATSLost, history.LeaderPause, history.LeaderCut, history.Rolling, history.Kill}
	underFaults(t, Options{Seed: 1, Lasts: 30 * time.Second, Rate: 0.5, Jobs: 2, Kinds: kinds})
}

// TestNothingIsLostWithSpark: the same with Spark applications in the mix, all of whose jobs complete.
func TestNothingIsLostWithSpark(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	spark := sparktest.Find(t, sparktest.Line)
	o := Options{Seed: 1, Lasts: 15 * time.Second, Rate: 0.7, Jobs: 1, Spark: &Applications{Count: 2, Jar: spark.Jar}}
	o.Spark.Program = sparkreplay.Program{Place: "this machine", Argv: []string{filepath.Join(spark.Dir, "bin", "spark-submit")}}
	underFaults(t, o)
}

func underFaults(t *testing.T, o Options) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	var out bytes.Buffer
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=10m"}
	status, there, err := network.Enter(t.Context(), args, &out, &out)
	switch {
	case there && status != 0:
		t.Fatalf("status %d\n%s", status, &out)
	case there:
		t.Logf("%s", &out)
		return
	case err != nil:
		t.Logf("without faults of the network: %v", err)
	}
	dir, err := os.MkdirTemp("", "pigeon-chaos-") //nolint:usetesting // it is to stay when the test fails
	if err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Progress = dir, func(s string) { t.Log(s) }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatalf("%v; its folder is %s", err, dir)
	}
	Print(t.Output(), r)
	if len(r.Findings) > 0 {
		t.Fatalf("%d contradictions; everything is kept in %s", len(r.Findings), dir)
	}
	if r.Accepted == 0 || r.Completed < r.Accepted/2 || r.Attempts < r.Completed {
		t.Errorf("too little happened: %+v", r)
	}
	if o.Spark != nil && (r.Applications != o.Spark.Count || r.SparkCompleted == 0) {
		t.Errorf("of %d Spark applications %d ran, with %d jobs", o.Spark.Count, r.Applications, r.SparkCompleted)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// TestPlanFollowsFromTheSeed: the programme of faults is a function of the options, a
// shorter one is its beginning, and no daemon has two faults of its process at a time.
func TestPlanFollowsFromTheSeed(t *testing.T) {
	o := &Options{Seed: 7, Lasts: 20 * time.Minute, Rate: 2, Kinds: Kinds()}
	f := fleetOf(&Options{Standbys: true}, groups)
	list := plan(o, f)
	if !reflect.DeepEqual(list, plan(o, f)) {
		t.Error("the same seed drew other faults")
	}
	first := *o
	first.Faults = 50
	if !reflect.DeepEqual(list[:50], plan(&first, f)) {
		t.Error("the first faults are others")
	}
	other := *o
	other.Seed = 8
	if reflect.DeepEqual(list, plan(&other, f)) {
		t.Error("another seed drew the same faults")
	}
	kinds, until := map[string]int{}, map[victim]time.Duration{}
	for i, p := range list {
		kinds[p.kind]++
		if p.number != i+1 || i > 0 && p.at < list[i-1].at || p.of == p.peer {
			t.Errorf("fault %d: %+v", i, p)
		}
		if kindOf(p.kind).alone {
			if p.at < until[p.of] {
				t.Errorf("fault %+v begins before another one of its victim ends", p)
			}
			until[p.of] = p.at + p.lasts
		}
	}
	for _, kind := range Kinds() {
		if kinds[kind] < 20 {
			t.Errorf("%d faults of kind %s in %d", kinds[kind], kind, len(list))
		}
	}
}

// TestTaskWritesItsHistory: the program of a task writes its start, its running and its end.
func TestTaskWritesItsHistory(t *testing.T) {
	dir, work := t.TempDir(), filepath.Join(t.TempDir(), "0123abcd", "2.7")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	for name, value := range map[string]string{"JOB": "j", "TASK": "2", "ATTEMPT": "7", "NODE": "node-1", "SLOT": "3"} {
		t.Setenv("PIGEON_"+name, value)
	}
	if status := TaskMain([]string{dir, "250ms"}); status != 0 {
		t.Fatal(status)
	}
	events, err := history.ReadFolder(dir)
	if err != nil || len(events) != 3 {
		t.Fatalf("%+v %v", events, err)
	}
	for i, what := range []string{history.Start, history.Runs, history.End} {
		e := events[i]
		if e != (history.Event{Event: what, Job: "j", ID: "0123abcd", Task: 2, Attempt: 7, Node: "node-1", Slot: 3, Pid: os.Getpid(), Time: e.Time}) {
			t.Errorf("%+v", e)
		}
	}
	if took := time.Duration(events[2].Time - events[0].Time); took < 250*time.Millisecond {
		t.Errorf("it ran for %v", took)
	}
	if TaskMain([]string{dir}) == 0 || TaskMain([]string{dir, "x"}) == 0 {
		t.Error("a task without a duration ran")
	}
}

// TestRefusedOptions: options that cannot run are refused by name.
func TestRefusedOptions(t *testing.T) {
	good := Options{Policy: "hawk", Lasts: time.Minute, Rate: 1, Jobs: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, set := range map[string]func(*Options){
		`"flood"`:          func(o *Options) { o.Kinds = []string{"kill", "flood"} },
		`"nonesuch"`:       func(o *Options) { o.Policy = "nonesuch" },
		"-1 faults a":      func(o *Options) { o.Rate = -1 },
		"10ms":             func(o *Options) { o.Lasts = 10 * time.Millisecond },
		"0 jobs":           func(o *Options) { o.Jobs = 0 },
		"NaN faults a":     func(o *Options) { o.Rate = math.NaN() },
		"NaN jobs":         func(o *Options) { o.Jobs = math.NaN() },
		"-2 faults are fe": func(o *Options) { o.Faults = -2 },
	} {
		o := good
		set(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestCommandNamesWhatIsLeft: the command that runs the same programme again names the kinds from
// which it is drawn, not those that cannot be injected here.
func TestCommandNamesWhatIsLeft(t *testing.T) {
	o := Options{Seed: 3, Lasts: 2001 * time.Second, Rate: 1, Jobs: 1, Standbys: true}
	r, err := o.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Command, " --minutes 33.35 ") {
		t.Errorf("%s, want all of its 2001 s", r.Command)
	}
	if left := len(Kinds()) - len(o.Kinds); left == 0 || len(r.LeftOut) == 0 {
		t.Skip("all kinds can be injected here")
	}
	if !strings.HasSuffix(r.Command, " --kinds "+strings.Join(o.Kinds, ",")) || strings.Contains(r.Command, history.WallJump) {
		t.Errorf("%s; left out: %v", r.Command, r.LeftOut)
	}
}

// TestMissingWorkersAreNotIdle: the end of a run is awaited until every worker is there.
func TestMissingWorkersAreNotIdle(t *testing.T) {
	workers := fleetOf(&Options{}, groups).workers()
	if want := map[int]int{0: 4, 1: 4}; !reflect.DeepEqual(workers, want) {
		t.Fatalf("the groups have %v workers, want %v", workers, want)
	}
	if single := fleetOf(&Options{Standbys: true}, 1).workers(); !reflect.DeepEqual(single, map[int]int{0: 8}) {
		t.Fatalf("the only group has %v workers", single)
	}
	for name, c := range map[string]struct {
		harm func([]api.MasterState) []api.MasterState
		want bool
	}{
		"all":             {func(g []api.MasterState) []api.MasterState { return g }, true},
		"none of a group": {func(g []api.MasterState) []api.MasterState { g[1] = api.MasterState{Group: 1}; return g }, false},
		"half of a group": {func(g []api.MasterState) []api.MasterState { g[0].Workers, g[0].IdleGeneral = 2, 1; return g }, false},
		"a busy one":      {func(g []api.MasterState) []api.MasterState { g[0].IdleGeneral, g[0].BusyGeneral = 2, 1; return g }, false},
		"a task waits":    {func(g []api.MasterState) []api.MasterState { g[0].QueuedLong = 1; return g }, false},
		"no second group": {func(g []api.MasterState) []api.MasterState { return g[:1] }, false},
	} {
		sound := []api.MasterState{{Group: 0, Workers: 4, IdleGeneral: 3, IdleReserved: 1}, {Group: 1, Workers: 4, IdleGeneral: 3, IdleReserved: 1}}
		if got := allIdle(c.harm(sound), workers); got != c.want {
			t.Errorf("%s: idle %v, want %v", name, got, c.want)
		}
	}
}

// TestReport: the page has the sums of the runs of a policy, and names each run that failed
// with the command that repeats it.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	line := `{"policy":"hawk","seed":3,"seconds":60,"binary":"/opt/old/pigeon","beside":"/opt/older/pigeon-1","dir":"/var/run7","command":"pigeon-bench chaos --seed 3 --binary /opt/old/pigeon","faults":{"kill":2,"pause":1},"accepted":5,"tasks":9,"attempts":10,"started_twice":1,` +
		`"recovery":[{"kind":"` + recoveryFrontend + `","samples":[0.5,0.1]}],"findings":[{"check":"` + history.StartsOnce + `","what":"task 0 began again, see /var/run7/logs\nmore","faults":2}],"shortest":2}` + "\n"
	if err := os.WriteFile(path, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Report(&out, []string{path}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| hawk | 2 | 2 | 6 | 10 | 18 | 20 | 2 | 0 | 0 | 0 | 0 |", "kill 4, pause 2", recoveryFrontend + " | 0.500 | 0.500 | 0.500 | 4 |",
		"`pigeon-bench chaos --seed 3 --binary pigeon --faults 2`", "task 0 began again, see logs\n", "## Daemons of pigeon beside pigeon-1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, out.String())
		}
	}
	if err := Report(&out, []string{path + "x"}); err == nil {
		t.Error("a file that does not exist was read")
	}
	other := filepath.Join(t.TempDir(), "results.jsonl")
	if err := os.WriteFile(other, []byte(line+`{"mode":"sim","policy":"pigeon","seed":1,"completed":5000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := Report(&out, []string{path, other}); err == nil || !strings.Contains(err.Error(), "object 2 is no result of pigeon-bench chaos -o json; nothing was written") || out.Len() > 0 {
		t.Errorf("the result of another verb: %v\n%s", err, &out)
	}
}
