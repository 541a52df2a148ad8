package measure

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// collected: three short jobs and two long ones, one of them failed.
func collected(o Options) *Collector {
	c := NewCollector(o)
	for _, j := range []Job{
		{Arrival: 2e9, End: 3e9, LongestTask: 1e9},
		{Arrival: 1e9, End: 3e9, LongestTask: 1e9},
		{Arrival: 4e9, End: 7e9, LongestTask: 2e9},
		{Arrival: 5e9, End: 25e9, LongestTask: 10e9, Long: true},
		{Arrival: 6e9, End: 41e9, LongestTask: 10e9, Long: true, Failed: true},
	} {
		c.Job(j)
	}
	for _, q := range []int64{0, 1e9, 1e9, 2e9} {
		c.Queued(false, q)
	}
	c.Queued(true, 10e9)
	return c
}

func facts() Facts {
	return Facts{
		Mode: "sim", Policy: "pigeon", Trace: "F", Seed: 1, Workers: 4, Groups: 2, Jobs: 5, Tasks: 5, Load: 0.5,
		Attempts: 6, Messages: 20, Suspensions: 1, Busy: 80e9, Wall: 5e8, Events: 99,
	}
}

func TestResult(t *testing.T) {
	r := collected(Options{Tolerance: [2]int64{1000, 1000}}).Result(facts())
	for _, tt := range []struct {
		what      string
		got, want Number
	}{
		{"short completion mean", r.Short.Completion.Mean, 2},
		{"short completion p50", r.Short.Completion.P50, 2},
		{"short completion p90", r.Short.Completion.P90, 2.8},
		{"short queueing mean, of tasks", r.Short.Queueing.Mean, 1},
		{"short slowdown p50", r.Short.Slowdown.P50, 1.5},
		{"short unqueued", r.Short.Unqueued, 1.0 / 3},
		{"long completion p99", r.Long.Completion.P99, 20},
		{"long slowdown mean", r.Long.Slowdown.Mean, 2},
		{"long queueing p50", r.Long.Queueing.P50, 10},
		{"all completion mean", r.All.Completion.Mean, 6.5},
		{"all queueing mean", r.All.Queueing.Mean, 2.8},
		{"all unqueued", r.All.Unqueued, 0.25},
		{"messages", r.MessagesPerTask, 4},
		{"suspensions", r.SuspensionsPerTask, 0.2},
		{"makespan", r.Makespan, 40},        // 1 s to 41 s, the failed job too
		{"utilization", r.Utilization, 0.5}, // 80 of 4 x 40
		{"wall", r.Wall, 0.5},
		{"bound short p50", r.References.LongestTask.Short.P50, 1},
		{"bound long p50", r.References.LongestTask.Long.P50, 10},
	} {
		if math.Abs(float64(tt.got-tt.want)) > 1e-12 {
			t.Errorf("%s = %v, want %v", tt.what, tt.got, tt.want)
		}
	}
	if r.Completed != 4 || r.Failed != 1 || r.Short.Jobs != 3 || r.Long.Jobs != 1 || r.All.Jobs != 4 || r.Attempts != 6 || r.Events != 99 {
		t.Errorf("counts are off: %+v", r)
	}
}

func TestResultIsMultipliedBackBySpeedup(t *testing.T) {
	r := collected(Options{Speedup: 10}).Result(facts())
	if r.Short.Completion.P50 != 20 || r.Makespan != 400 || r.References.LongestTask.Long.P50 != 100 || r.Long.Queueing.P50 != 100 {
		t.Errorf("times are not ten-fold: %+v", r)
	}
	if r.Short.Slowdown.P50 != 1.5 || r.Utilization != 0.5 || r.Wall != 0.5 {
		t.Errorf("ratios or the wall clock changed: %+v", r)
	}
}

func TestResultMayBeTakenInBetween(t *testing.T) {
	c, whole := collected(Options{}), collected(Options{})
	c.Result(facts())
	for _, x := range []*Collector{c, whole} {
		x.Job(Job{Arrival: 8e9, End: 8_500_000_000, LongestTask: 5e8})
	}
	got, err := json.Marshal(c.Result(facts()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(whole.Result(facts()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("after an earlier Result: %s\nwithout it: %s", got, want)
	}
}

// The keys are a contract with scripts (pigeon sim -o json).
func TestResultKeys(t *testing.T) {
	c := NewCollector(Options{})
	c.Job(Job{Arrival: 0, End: 2e9, LongestTask: 1e9})
	c.Queued(false, 1e9)
	f := facts()
	text, err := json.Marshal(c.Result(f))
	if err != nil {
		t.Fatal(err)
	}
	four := func(x string) string { return `{"mean":` + x + `,"p50":` + x + `,"p90":` + x + `,"p99":` + x + `}` }
	two, one, none := four("2"), four("1"), four("null")
	class := `{"jobs":1,"completion":` + two + `,"queueing":` + one + `,"slowdown":` + two + `,"unqueued":0}`
	empty := `{"jobs":0,"completion":` + none + `,"queueing":` + none + `,"slowdown":` + none + `,"unqueued":null}`
	want := `{"mode":"sim","policy":"pigeon","trace":"F","seed":1,"workers":4,"groups":2,"jobs":5,"tasks":5,"load":0.5,` +
		`"short":` + class + `,"long":` + empty + `,"all":` + class + `,` +
		`"completed":1,"failed":0,"attempts":6,"messages_per_task":4,"suspensions_per_task":0.2,"utilization":10,` +
		`"makespan":2,"wall":0.5,"events":99,"bound":{"longest_task":{"short":` + one + `,"long":` + none + `}}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}

	f.Mode, f.Partial, f.Live = "live", true, &Live{CPUPerTask: 8e-5, RSSMax: 1 << 20, TasksPerSecond: 2e4}
	text, err = json.Marshal(c.Result(f))
	if err != nil {
		t.Fatal(err)
	}
	if end := `,"cpu_per_task":8e-05,"rss_max":1048576,"tasks_per_second":20000,"partial":true}`; !strings.HasSuffix(string(text), end) {
		t.Errorf("a live run ends %s, want %s", text, end)
	}
}

func TestResultOfNothingIsJSON(t *testing.T) {
	text, err := json.Marshal(NewCollector(Options{}).Result(Facts{}))
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("NaN")) || !math.IsNaN(float64(back.Short.Completion.P99)) {
		t.Errorf("an empty run is %s", text)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, []Result{collected(Options{}).Result(facts())}); err != nil {
		t.Fatal(err)
	}
	want := `
  policy    load  class  jobs  mean   p50   p90   p99  queued p50  queued p99  slowdown p99  unqueued
  pigeon  50.0 %  short     3  2.00  2.00  2.80  2.98        1.00        1.97          1.99    33.3 %
  pigeon  50.0 %   long     1  20.0  20.0  20.0  20.0        10.0        10.0          2.00     0.0 %
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestDigits(t *testing.T) {
	for want, n := range map[string]Number{
		"-": Missing(), "0": 0, "0.466": 0.46612, "12.3": 12.345, "198": 197.6, "12345": 12345, "0.00050": 0.0005, "-2.50": -2.5,
	} {
		if got := significant(n); strings.TrimRight(got, "0") != strings.TrimRight(want, "0") {
			t.Errorf("significant(%v) = %s, want %s", n, got, want)
		}
	}
}
