package chaos

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

//go:embed report.md.tmpl
var reportText string

var report = markdown.MustParse(reportText)

// page is what the report shows.
type page struct {
	Versions []version
	Checks   []history.Check
	LeftOut  []string // what, and in how many runs
}

// version is the runs of one program.
type version struct {
	Title    string
	Policies markdown.Table
	Faults   []string
	Recovery markdown.Table
	Spark    string // what Spark applications in the mix did; "" without
	Failures []failure
}

// failure is a run with contradictions.
type failure struct {
	*Result
	Counts []string // of the findings, by check
	First  string
}

// Report writes the page of results from files with the output of -o json.
func Report(out io.Writer, files []string) error {
	var all []*Result
	for _, path := range files {
		of, err := readResults(path)
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was written", path, err)
		}
		all = append(all, of...)
	}
	if len(all) == 0 {
		return errors.New("the files hold no results; nothing was written")
	}
	p := page{Checks: history.Checks()}
	by, leftOut := map[programs][]*Result{}, map[string]int{}
	for _, r := range all {
		of := programs{r.Binary, r.Beside, r.Standbys}
		by[of] = append(by[of], r)
		for _, what := range r.LeftOut {
			leftOut[what]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(leftOut)) {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s (%d of %d runs)", what, leftOut[what], len(all)))
	}
	for _, of := range slices.SortedFunc(maps.Keys(by), programs.compare) {
		p.Versions = append(p.Versions, versionOf(of, by[of]))
	}
	return report.Write(out, "report", p)
}

func readResults(path string) (list []*Result, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	for d := json.NewDecoder(f); ; {
		r := &Result{}
		if err := d.Decode(r); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if r.Command == "" { // what other verbs print has no finding either
			return nil, fmt.Errorf("object %d is no result of pigeon-bench chaos -o json", len(list)+1)
		}
		list = append(list, r)
	}
}

// sums are the figures of the runs of a policy.
type sums struct {
	runs, faults, jobs, lost, tasks, attempts, startedTwice, ranTwice, unexplained, others int
	seconds                                                                                float64
}

func (s *sums) add(r *Result) {
	s.runs++
	s.faults += r.injected()
	s.jobs, s.lost, s.tasks, s.attempts = s.jobs+r.Accepted, s.lost+r.Lost, s.tasks+r.Tasks, s.attempts+r.Attempts
	s.startedTwice, s.ranTwice, s.unexplained = s.startedTwice+r.StartedTwice, s.ranTwice+r.RanTwice, s.unexplained+r.Unexplained
	s.others += len(r.Findings) - r.StartedTwice - r.Unexplained - r.Lost
	s.seconds += r.Seconds
}

func (s *sums) row(name string) []string {
	row := []string{name}
	for _, n := range []int{s.runs, int(math.Round(s.seconds / 60)), s.faults, s.jobs, s.tasks, s.attempts, s.startedTwice, s.ranTwice, s.unexplained, s.lost, max(0, s.others)} {
		row = append(row, fmt.Sprint(n))
	}
	return row
}

// programs are those of the daemons of a run: of all, and of every second one where that is
// another.
type programs struct {
	binary, beside string
	standbys       bool
}

func (p programs) compare(other programs) int {
	if p.standbys != other.standbys && p.binary == other.binary && p.beside == other.beside {
		if other.standbys {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.binary, other.binary), cmp.Compare(p.beside, other.beside))
}

func (p programs) title() string {
	title := "This version"
	if p.binary != "" {
		title = "Daemons of " + filepath.Base(p.binary)
	}
	if p.beside != "" {
		title += " beside " + filepath.Base(p.beside)
	}
	if p.standbys {
		title += ", with standbys"
	}
	return title
}

func versionOf(of programs, runs []*Result) version {
	v := version{Title: of.title(), Policies: markdown.Table{Head: []string{"policy", "runs", "minutes", "faults", "jobs", "tasks", "starts", "started twice", "ran twice", "without a reason", "lost", "others"}}}
	v.Spark = sparkOf(runs)
	by, total, kinds, recoveries := map[string]*sums{}, sums{}, map[string]int{}, map[string][]float64{}
	for _, r := range runs {
		if by[r.Policy] == nil {
			by[r.Policy] = &sums{}
		}
		by[r.Policy].add(r)
		total.add(r)
		for kind, n := range r.Faults {
			kinds[kind] += n
		}
		for _, x := range r.Recovery {
			recoveries[x.Kind] = append(recoveries[x.Kind], x.Samples...)
		}
		if len(r.Findings) > 0 {
			v.Failures = append(v.Failures, failureOf(r))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		v.Policies.Rows = append(v.Policies.Rows, by[name].row(name))
	}
	v.Policies.Rows = append(v.Policies.Rows, total.row("all"))
	for _, kind := range Kinds() {
		if kinds[kind] > 0 {
			v.Faults = append(v.Faults, fmt.Sprintf("%s %d", kind, kinds[kind]))
		}
	}
	v.Recovery.Head = []string{"recovery", "p50", "p99", "most", "count"}
	for _, kind := range recoveryKinds {
		if len(recoveries[kind]) == 0 {
			continue
		}
		x := recovery(kind, recoveries[kind])
		v.Recovery.Rows = append(v.Recovery.Rows, []string{kind, measure.Fixed(float64(x.P50), 3), measure.Fixed(float64(x.P99), 3), measure.Fixed(float64(x.Max), 3), fmt.Sprint(len(x.Samples))})
	}
	return v
}

// sparkOf returns the sentence about the Spark applications of runs, "" where there were none.
func sparkOf(runs []*Result) string {
	with, applications, jobs, completed, faults := 0, 0, 0, 0, 0
	for _, r := range runs {
		if r.Applications == 0 {
			continue
		}
		with++
		applications, jobs, completed = applications+r.Applications, jobs+r.SparkJobs, completed+r.SparkCompleted
		faults += r.injected()
	}
	if with == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the runs, with %d faults, had Spark applications in the mix: %d applications with %d jobs, of which %d completed.", with, faults, applications, jobs, completed)
}

func failureOf(r *Result) failure {
	shown := *r
	for _, program := range []string{r.Binary, r.Beside} {
		if program != "" {
			shown.Command = strings.ReplaceAll(shown.Command, program, filepath.Base(program))
		}
	}
	f, counts := failure{Result: &shown}, map[string]int{}
	first := slices.MinFunc(r.Findings, func(a, b history.Finding) int { return cmp.Compare(a.Faults, b.Faults) })
	for _, x := range r.Findings {
		counts[x.Check]++
	}
	for _, check := range slices.Sorted(maps.Keys(counts)) {
		f.Counts = append(f.Counts, fmt.Sprintf("%d of %q", counts[check], check))
	}
	text, _, _ := strings.Cut(first.What, "\n")
	f.First = shortened(strings.ReplaceAll(text, r.Dir+"/", ""))
	return f
}

// shortened bounds a sentence of the page.
func shortened(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
