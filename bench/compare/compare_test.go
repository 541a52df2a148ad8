package compare

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func small() *Plan {
	return &Plan{
		Policies: []string{"pigeon", "pigeon:weight=2,reserved=0"}, Traces: []string{"gen:ec2,jobs=400"}, Loads: []float64{0.5, 0.9},
		Base: experiment.Description{
			Groups: []int{8, 8}, Frontends: 3, Reserved: 0.1, Cutoff: time.Second, Seed: 5, Seeds: 3,
		},
		Delay: 500 * time.Microsecond,
	}
}

func TestRefusals(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.tr")
	for name, tt := range map[string]struct {
		spoil func(*Plan)
		want  string
	}{
		"no policy":           {func(p *Plan) { p.Policies = nil }, "0 policies"},
		"unknown policy":      {func(p *Plan) { p.Policies[1] = "pigoen" }, `did you mean "pigeon"`},
		"unknown parameter":   {func(p *Plan) { p.Policies[1] = "pigeon:wieght=1" }, `did you mean "weight"`},
		"a policy twice":      {func(p *Plan) { p.Policies[1] = "pigeon" }, `"pigeon" is given twice`},
		"no trace":            {func(p *Plan) { p.Traces = nil }, "0 settings"},
		"no such file":        {func(p *Plan) { p.Traces[0] = absent }, "absent.tr"},
		"a trace twice":       {func(p *Plan) { p.Traces = append(p.Traces, p.Traces[0]) }, "given twice"},
		"a load twice":        {func(p *Plan) { p.Loads = []float64{0.5, 0.5} }, "a repeated one"},
		"a load of 0":         {func(p *Plan) { p.Loads = []float64{0} }, "or 0"},
		"a load of NaN":       {func(p *Plan) { p.Loads = []float64{math.NaN()} }, "load is NaN"},
		"files of one name":   {func(p *Plan) { p.Traces = []string{"ta/x.tr", "tb/x.tr"} }, `"ta/x.tr" and "tb/x.tr" are both called "x" in tables and figures; nothing was run; rename one`},
		"of other endings":    {func(p *Plan) { p.Traces, p.Loads = []string{"x.tr", "x.txt"}, nil }, `"x.tr" and "x.txt" are both called "x"`},
		"families' names":     {func(p *Plan) { p.Traces, p.Loads = []string{"x_50.tr", "x_50_7.tr", "x_50_8.tr"}, nil }, `"x_50.tr" and "x_50_7.tr" would both be called "x_50"; nothing was run; rename one`},
		"loads of one name":   {func(p *Plan) { p.Loads = []float64{0.5, 0.9001, 0.9002} }, `the loads 0.9001 and 0.9002 of gen:ec2,jobs=400 are both called "load 0.9"`},
		"loads below 0":       {func(p *Plan) { p.Loads = []float64{-1, -2} }, "load is -1"},
		"too many cells":      {func(p *Plan) { p.Loads = make([]float64, MaxCells+1) }, "1 to 64"},
		"too many runs":       {func(p *Plan) { p.Base.Seeds = MaxRuns }, "100000 runs"},
		"an empty group":      {func(p *Plan) { p.Base.Groups = []int{3, 0} }, "group 1"},
		"live, of another":    {func(p *Plan) { p.Live = &Live{Policies: []string{"pigeo"}, Runs: 1} }, `did you mean "pigeon"`},
		"live, no runs":       {func(p *Plan) { p.Live = &Live{Isolation: cluster.Goroutine} }, "0 live runs"},
		"live, isolation":     {func(p *Plan) { p.Live = &Live{Runs: 1, Isolation: "cell"} }, `"cell" does not exist`},
		"live, a large group": {func(p *Plan) { p.Base.Groups, p.Live = []int{250, 251}, liveHere() }, "pigeon cannot run live: group 1 of a cluster on one machine has 1 to 250 nodes, not 251"},
		"live, groups":        {func(p *Plan) { p.Base.Groups, p.Live = experiment.EvenGroups(251, 251), liveHere() }, "1 to 250 groups, not 251"},
		"live, frontends":     {func(p *Plan) { p.Base.Frontends, p.Live = 251, liveHere() }, "1 to 250 frontends, not 251"},
		"nodes of 3":          {func(p *Plan) { p.Policies[1] = "kairos:cores=3" }, "not a multiple"},
		"kairos with q 0":     {func(p *Plan) { p.Policies[1] = "kairos:q=0" }, `"0"`},
		"a generator's fault": {func(p *Plan) { p.Traces[0] = "gen:ec2,jbos=1" }, `did you mean "jobs"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := small()
			tt.spoil(p)
			if _, err := p.Prepare(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func liveHere() *Live { return &Live{Runs: 1, Isolation: cluster.Goroutine} }

// Prepare refuses the clusters that cannot be started here, and no others: those
// of policies that are only simulated, and those whose nodes have several slots are accepted.
func TestLiveClustersThatFit(t *testing.T) {
	for name, spoil := range map[string]func(*Plan){
		"at the bounds": func(p *Plan) { p.Base.Groups, p.Base.Frontends = []int{250, 250}, 250 },
		"only simulated": func(p *Plan) {
			p.Base.Groups, p.Policies, p.Live.Policies = []int{500, 500}, []string{"pigeon", "kairos:cores=4"}, []string{"kairos:cores=4"}
		},
		"nodes of several":    func(p *Plan) { p.Base.Groups, p.Policies = []int{500, 500}, []string{"kairos:cores=4"} },
		"no live runs at all": func(p *Plan) { p.Base.Groups, p.Live = []int{251}, nil },
		"another of its kind": func(p *Plan) { p.Live.Policies = p.Policies[1:] },
	} {
		p := small()
		p.Live = liveHere()
		spoil(p)
		if _, err := p.Prepare(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func compared(t *testing.T, p *Plan) *Comparison {
	t.Helper()
	ready, err := p.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	last := Progress{}
	c, err := ready.Run(t.Context(), nil, func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	if last.Done != last.All || last.All == 0 {
		t.Errorf("the last progress is %+v", last)
	}
	return c
}

// Each policy runs once with each seed: what is followed over time is the run that is measured.
func TestEachRunIsMadeOnce(t *testing.T) {
	ready, err := small().Prepare()
	if err != nil {
		t.Fatal(err)
	}
	c := &Comparison{}
	for i := range ready.cells {
		c.Cells = append(c.Cells, ready.empty(&ready.cells[i]))
	}
	runs := 0
	for _, s := range ready.steps(c) {
		if !strings.HasPrefix(s.what, "references ") {
			runs++
		}
	}
	if want := 2 * 2 * 3; runs != want {
		t.Errorf("%d runs of 2 policies at 2 loads with 3 seeds, want %d", runs, want)
	}
}

// A written comparison is read back with the same figures, and makes the same report.
func TestWrittenAndReadBack(t *testing.T) {
	c := compared(t, small())
	c.Manifest.Command, c.Manifest.Program = []string{"pigeon-bench", "compare", "--out", "a folder"}, "pigeon 1"
	dir := t.TempDir()
	if err := errors.Join(MakeFolder(dir), c.Write(dir)); err != nil {
		t.Fatal(err)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := table(t, c), table(t, again); !reflect.DeepEqual(first, second) {
		t.Error("the rows differ from those that were written")
	} else if want := 1 + 2*2*4*(2*3+2); len(first) != want { // loads, classes, statistics; policies with three quantities, references
		t.Errorf("%d rows, want %d", len(first), want)
	}
	report, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pigeon-bench compare --out 'a folder'", "seeds 5 to 7", "16 workers in 2 groups", "- Program: pigeon 1.", " processors, ",
		"## gen-ec2-jobs-400, load 0.5", "| *clairvoyant* |", "| pigeon:weight=2,reserved=0 |", "figures/percentiles-gen-ec2-jobs-400.svg",
		"| largest worker |",
	} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	var out bytes.Buffer
	if err := again.Report(&out); err != nil || out.String() != string(report) {
		t.Errorf("read back, it makes another report (%v)", err)
	}
	for _, f := range c.figureList() {
		for _, ending := range []string{".svg", ".png"} {
			if s, err := os.Stat(filepath.Join(dir, FigureFolder, f.Base+ending)); err != nil || s.Size() < 2000 {
				t.Errorf("figure %s%s: %v", f.Base, ending, err)
			}
		}
	}
}

// Figures that an earlier comparison left in the folder are removed; files that it did not write stay.
func TestFiguresOfAnEarlierComparison(t *testing.T) {
	p := small()
	p.Traces, p.Loads = []string{"gen:exp,jobs=50"}, nil
	c, dir := compared(t, p), t.TempDir()
	figures := filepath.Join(dir, FigureFolder)
	others := []string{"completion-mine.pdf", "notes.svg"}
	if err := os.MkdirAll(figures, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"completion-other-0.5.svg", "percentiles-other.png", "time-other.svg"}, others...) {
		if err := os.WriteFile(filepath.Join(figures, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	want := others
	for _, f := range c.figureList() {
		want = append(want, f.Base+".svg", f.Base+".png")
	}
	var got []string
	entries, err := os.ReadDir(figures)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if slices.Sort(want); err != nil || len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("the folder has %q, %v; want %q", got, err, want)
	}
}

// A workload without long jobs has no share of them, not even one of "- %".
func TestReportWithoutLongJobs(t *testing.T) {
	p := small()
	p.Traces, p.Loads = []string{"gen:exp,jobs=50"}, nil
	var out bytes.Buffer
	if err := compared(t, p).Report(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "- %") || !strings.Contains(text, " % | - | ") {
		t.Errorf("the table of costs:\n%s", text[strings.Index(text, "| simulated "):])
	}
}

// Seeds that draw no long job are left out of the figures of long jobs, the first one too, and the
// report says how many are left.
func TestSeedsWithoutLongJobs(t *testing.T) {
	p := small()
	p.Traces, p.Loads = []string{"gen:ec2,jobs=100"}, nil
	p.Base.Workload.Resample, p.Base.Seeds = 8, 6
	p.Base.Seed = 10
	c := compared(t, p)
	with := 0
	for s := range p.Base.Seeds {
		if c.Cells[0].Policies[0].Results[s].Long.Jobs > 0 {
			with++
		}
	}
	if with == 0 || with == p.Base.Seeds {
		t.Fatalf("%d of %d seeds have long jobs; choose others", with, p.Base.Seeds)
	}
	if costs := c.Cells[0].costs(); slices.Contains(costs.Rows[0], "-") {
		t.Errorf("the costs are %q", costs.Rows[0])
	}
	long := 0
	for _, r := range c.Rows() {
		if r.Class == 0 {
			continue
		}
		long++
		if r.Seeds != with || math.IsNaN(float64(r.Value.Mean)) || math.IsNaN(float64(r.Relative.Mean)) {
			t.Errorf("%+v, want figures of %d seeds", r, with)
		}
	}
	var out bytes.Buffer
	if err := errors.Join(c.Report(&out), c.Figures(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("long jobs, completion (of %d of %d seeds; the others drew none)", with, p.Base.Seeds); long == 0 || !strings.Contains(out.String(), want) {
		t.Errorf("%d rows of long jobs; want %q in\n%s", long, want, out.String())
	}
}

// Jobs that take no time leave figures out, not the report: those of a class, or all of them.
func TestNoTimeAtAll(t *testing.T) {
	for name, want := range map[string]struct {
		text    string
		figures int
	}{
		"some":    {"0 2 0 0 0\n0 1 0 0\n1 1 2 2\n", 3},
		"nothing": {"0 2 0 0 0\n1 1 0 0\n", 0},
	} {
		p := small()
		p.Delay, p.Loads, p.Base.Seeds = 0, nil, 1
		p.Traces = []string{filepath.Join(t.TempDir(), name+".tr")}
		if err := os.WriteFile(p.Traces[0], []byte(want.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, dir := compared(t, p), t.TempDir()
		if err := c.Write(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		files, err := filepath.Glob(filepath.Join(dir, FigureFolder, "*.svg"))
		if list := c.figureList(); len(list) != want.figures || len(files) != want.figures || err != nil {
			t.Errorf("%s: %d figures are listed, and %d drawn, want %d: %v", name, len(list), len(files), want.figures, err)
		}
	}
}

func table(t *testing.T, c *Comparison) [][]string {
	t.Helper()
	var out bytes.Buffer
	if err := c.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The reference is 1 against itself, and no run passes the longest tasks.
func TestRatiosAndBounds(t *testing.T) {
	p := small()
	p.Base.Workload.Resample = 300
	c := compared(t, p)
	best := map[[2]int]float64{}
	for _, r := range c.Rows() {
		if r.Policy == "pigeon" && math.Abs(float64(r.Relative.Mean)-1) > 1e-12 {
			t.Errorf("pigeon over itself: %+v", r)
		}
		if r.Mode == ModeReference && r.Policy == LongestTask && r.What == "mean" {
			best[[2]int{r.Cell, r.Class}] = float64(r.Value.Mean)
		}
	}
	for _, r := range c.Rows() {
		if bound := best[[2]int{r.Cell, r.Class}]; r.Of == "completion" && r.What == "mean" && float64(r.Value.Mean) < bound {
			t.Errorf("%s: mean %g, below the longest tasks' %g", r.Policy, r.Value.Mean, bound)
		}
	}
	for i := range c.Cells { // each seed has drawn its own jobs
		if a, b := c.Cells[i].Longest[0], c.Cells[i].Longest[1]; a == b {
			t.Errorf("cell %d: the bounds of two seeds are one: %+v", i, a)
		}
	}
}

// The area below a line over time equals a figure of the results: busy
// workers the work done, unfinished jobs the sum of completion times, waiting
// tasks that of queueing delays.
func TestTimelinesAgreeWithResults(t *testing.T) {
	for _, policy := range []string{"pigeon", "sparrow", "eagle"} {
		p := small()
		p.Policies, p.Loads = []string{policy}, []float64{0.9}
		c := compared(t, p)
		cell := &c.Cells[0]
		line, r := cell.Policies[0].timeline, &cell.Policies[0].Results[0]
		sent := 0.0
		for _, role := range measure.Roles() {
			state := cell.Policies[0].State.ByRole(role)
			sent += float64(state.Sent)
			if master := role == sched.Master; (state.Bytes == 0) != (master && policy == "sparrow") || state.All < state.Bytes {
				t.Errorf("%s: %v has %+v", policy, role, state)
			}
		}
		if math.Abs(sent-float64(r.MessagesPerTask)) > 1e-9 {
			t.Errorf("%s: the roles send %g messages a task, the result has %g", policy, sent, float64(r.MessagesPerTask))
		}
		w, err := cell.Cell.runs[0][0].Workload()
		if err != nil {
			t.Fatal(err)
		}
		var tasks [2]float64
		for i := range w.Jobs {
			class := 0
			if w.Jobs[i].TrueLong {
				class = 1
			}
			tasks[class] += float64(len(w.Jobs[i].Durations))
		}
		for name, tt := range map[string]struct {
			line     *Timeline
			quantity int
			want     float64
		}{
			"busy":                         {line, Busy, w.Work() / 1e9},
			"short unfinished":             {line, UnfinishedShort, float64(r.Short.Completion.Mean) * float64(r.Short.Jobs)},
			"long unfinished":              {line, UnfinishedLong, float64(r.Long.Completion.Mean) * float64(r.Long.Jobs)},
			"short waiting":                {line, WaitingShort, float64(r.Short.Queueing.Mean) * tasks[0]},
			"long waiting":                 {line, WaitingLong, float64(r.Long.Queueing.Mean) * tasks[1]},
			"short unfinished, unqueued":   {cell.references.timelines[0], UnfinishedShort, float64(cell.Longest[0].Short.Mean) * float64(r.Short.Jobs)},
			"busy, clairvoyant":            {cell.references.timelines[1], Busy, w.Work() / 1e9},
			"long unfinished, clairvoyant": {cell.references.timelines[1], UnfinishedLong, float64(cell.Clairvoyant[0].Long.Mean) * float64(r.Long.Jobs)},
		} {
			if got := area(tt.line, tt.quantity); math.Abs(got-tt.want) > 1e-6*tt.want {
				t.Errorf("%s, %s: the area is %g, want %g", policy, name, got, tt.want)
			}
		}
	}
}

func area(t *Timeline, quantity int) (sum float64) {
	for _, v := range t.spans[quantity] {
		sum += v * float64(t.width) / 1e9
	}
	return sum
}

func TestLiveBesideSimulated(t *testing.T) {
	p := small()
	p.Policies, p.Loads, p.Base.Seeds = []string{"pigeon", "sparrow"}, []float64{0.5}, 1
	p.Traces[0] = "gen:ec2,jobs=40"
	p.Live = &Live{Runs: 2, Speedup: 40, Isolation: cluster.Goroutine}
	c := compared(t, p)
	for _, p := range c.Cells[0].Policies {
		if live := p.Live; len(live) != 2 || live[1].Completed != 40 || live[0].Mode != ModeLive {
			t.Fatalf("%s: %d live runs: %+v", p.Policy, len(live), live)
		}
	}
	var out bytes.Buffer
	if err := c.Report(&out); err != nil || !strings.Contains(out.String(), "pigeon, live |") || !strings.Contains(out.String(), "live beside simulated") {
		t.Errorf("%v\n%s", err, out.String())
	}
	dir := t.TempDir()
	if err := errors.Join(MakeFolder(dir), c.writeText(dir)); err != nil {
		t.Fatal(err)
	}
	if again, err := Read(dir); err != nil || len(again.Cells[0].Policies[0].Live) != 2 {
		t.Errorf("read back: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ready, err := small().Prepare()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ready.Run(ctx, nil, func(Progress) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

func TestReadRefusesWhatItDidNotWrite(t *testing.T) {
	for name, tt := range map[string]struct{ manifest, results, want string }{
		"nothing":        {"", "", "manifest.json"},
		"no results":     {`{"policies":["a"],"seeds":1,"cells":[{"trace":"t"}]}`, "", "0 results of a on t, not 1"},
		"no cell":        {`{}`, "", "no cell"},
		"another cell":   {`{"policies":["a"],"cells":[{"trace":"t"}]}`, `{"policy":"a","cell":1}`, "cell 1, of 1"},
		"another policy": {`{"policies":["a"],"cells":[{"trace":"t"}]}`, `{"policy":"b"}`, `policy "b"`},
		"no JSON":        {`{"policies":["a"],"cells":[{"trace":"t"}]}`, `}`, "results.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.manifest != "" {
				if err := errors.Join(os.WriteFile(filepath.Join(dir, ManifestFile), []byte(tt.manifest), 0o600),
					os.WriteFile(filepath.Join(dir, ResultsFile), []byte(tt.results), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Read = %v, want %q in it", err, tt.want)
			}
		})
	}
}

// The expected row of the definitions is next to the measured one.
func TestResultsPage(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "ngo_90.tr")
	if err := os.WriteFile(trace, []byte("0 1 0.5 0.5\n1 2 2 1 3\n2 1 0.2 0.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := small()
	p.Traces, p.Loads, p.Policies = []string{trace}, nil, []string{"pigeon", "sparrow"}
	p.Base.Groups = []int{40, 40, 40} // the setting of the definitions
	c := compared(t, p)
	dir := t.TempDir()
	from, beside, more := filepath.Join(dir, "some"), filepath.Join(dir, "pages"), filepath.Join(dir, "more.md")
	if err := errors.Join(MakeFolder(from), c.Write(from), os.WriteFile(more, []byte("# What more\nthere is"), 0o600)); err != nil {
		t.Fatal(err)
	}
	lines := []string{
		"## Beside an independent simulator", "| sparrow | short | p50 over pigeon | 212 |", "| sparrow | short | p99 over pigeon | 57.0 |",
		"| pigeon | long | p50 s | 199 |", "| sparrow | both | messages a task | 6.80 | 7.00 | 3 % |", "bursts", "Peacock",
		"| short jobs, mean / p99 over pigeon | ngo_90, load", "| *clairvoyant* |",
	}
	written(t, Page{Folders: []string{from}}, append(lines, "| short jobs, completion |")...)
	written(t, Page{Folders: []string{from}, Beside: beside, With: []string{more}, See: []string{more}}, append(lines,
		"](pages/some-percentiles-ngo_90.png)", "](pages/some.md)", "- [What more](more.md)", "there is")...)
	for name, want := range map[string]string{"some.md": "| short jobs, completion |", "some-percentiles-ngo_90.png": "PNG", "some-time-ngo_90.png": "PNG"} {
		if text, err := os.ReadFile(filepath.Join(beside, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
	var twice bytes.Buffer
	if err := (&Page{Folders: []string{from, from}}).Write(&twice); err != nil || strings.Count(twice.String(), "| sparrow | both | messages a task |") != 1 {
		t.Errorf("of two comparisons with the figure, one is to be used (%v):\n%s", err, twice.String())
	}
	for _, p := range []Page{{Folders: []string{dir}}, {Folders: []string{from}, With: []string{"absent.md"}}, {Folders: []string{from}, Beside: more}} {
		if err := p.Write(io.Discard); err == nil {
			t.Errorf("%+v was written", p)
		}
	}
}

func written(t *testing.T, p Page, lines ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range lines {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, out.String())
		}
	}
}

// Files of one workload at several loads share a figure; so do the loads of a trace.
func TestFamilies(t *testing.T) {
	cell := func(trace string, load float64) CellResult { return CellResult{Cell: Cell{Trace: trace, Asked: load}} }
	c := &Comparison{Cells: []CellResult{cell("a/ngo_50.tr", 0), cell("nyh_70.tr", 0), cell("a/ngo_90.tr", 0), cell("goog_sub.tr", 0), cell("ngo_90.tr", 0.5), cell("ngo_90.tr", 0.7)}}
	want := [][]int{{0, 2}, {1}, {3}, {4, 5}}
	got := c.families()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("families %v, want %v", got, want)
	}
	for k, title := range []string{"ngo", "nyh_70", "goog_sub", "ngo_90"} {
		if c.title(got[k]) != title {
			t.Errorf("family %v is called %q, want %q", got[k], c.title(got[k]), title)
		}
	}
}

func TestMakeFolderRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(path); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("MakeFolder = %v", err)
	}
}
