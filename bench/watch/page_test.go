package watch

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
)

// shown reads a page's data back.
func shown(t *testing.T, html string) []encoded {
	t.Helper()
	_, rest, _ := strings.Cut(html, `id="data">`)
	data, _, ok := strings.Cut(rest, "</script>")
	var all []encoded
	if err := json.Unmarshal([]byte(data), &all); err != nil || !ok {
		t.Fatalf("the data are no JSON: %v", err)
	}
	return all
}

func decoded(t *testing.T, text string, each int) (rows [][]int64) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	var row []int64
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 {
			t.Fatal("a number is cut off")
		}
		raw = raw[n:]
		if row = append(row, int64(v)); len(row) == each {
			rows, row = append(rows, row), nil
		}
	}
	if row != nil {
		t.Fatalf("%d numbers are left", len(row))
	}
	return rows
}

// The data of the page adds up to the run's result: work, delays and completion
// times, by class.
func TestPageHoldsTheRun(t *testing.T) {
	for _, policy := range []string{"pigeon", "sparrow", "eagle"} {
		d := experiment.Description{Trace: "gen:ec2,jobs=500", Policies: []string{policy}, Groups: []int{8, 8}, Frontends: 3,
			Reserved: 0.1, Cutoff: time.Second, Seed: 1, Seeds: 1}
		runs, err := d.Runs()
		if err != nil {
			t.Fatal(err)
		}
		w, err := runs[0].Workload()
		if err != nil {
			t.Fatal(err)
		}
		var life bytes.Buffer
		out, err := runs[0].Simulate(t.Context(), w, experiment.SimOptions{Delay: time.Millisecond / 2, History: &life})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(&life, "h", Options{Title: policy, Cutoff: d.Cutoff, Workers: 16})
		if err != nil {
			t.Fatal(err)
		}
		var html bytes.Buffer
		if err := Write(&html, []*Recording{r, r}); err != nil {
			t.Fatal(err)
		}
		page := shown(t, html.String())[1]
		result := runs[0].Result(w, out)
		var ran, waited, took [2]float64
		for _, row := range decoded(t, page.Runs, 5) {
			ran[row[4]&1] += float64(row[1])
			waited[row[4]&1] += float64(row[2])
		}
		for _, row := range decoded(t, page.Jobs, 3) {
			took[row[2]] += float64(row[1])
		}
		var work, delay [2]float64
		task := 0
		for i := range w.Jobs {
			class := flag(w.Jobs[i].TrueLong, 1)
			work[class] += float64(w.Jobs[i].Work()) / 1e9
			for range w.Jobs[i].Durations {
				delay[class] += float64(out.Queueing[task]) / 1e9
				task++
			}
		}
		completion := [2]float64{float64(result.Short.Completion.Mean) * float64(result.Short.Jobs), float64(result.Long.Completion.Mean) * float64(result.Long.Jobs)}
		for class := range 2 {
			for what, pair := range map[string][2]float64{"work": {ran[class], work[class]}, "delays": {waited[class], delay[class]}, "completions": {took[class], completion[class]}} {
				if got := pair[0] * page.Unit; math.Abs(got-pair[1]) > 0.01*pair[1]+page.Unit*float64(task) {
					t.Errorf("%s, class %d: %s on the page %.3f, in the run %.3f", policy, class, what, got, pair[1])
				}
			}
		}
		if page.Workers != 16 || (policy == "pigeon") != (len(page.Groups) == 2) || (policy == "pigeon") != (page.AtWorkers == 0) {
			t.Errorf("%s: %d workers, groups %v, %.2f wait at workers", policy, page.Workers, page.Groups, page.AtWorkers)
		}
		if perRun := float64(len(page.Runs)) / float64(task); perRun > 16 {
			t.Errorf("%s: %.1f bytes a run of a task, more than 16", policy, perRun)
		}
	}
}

func TestTitlesCannotEndTheScript(t *testing.T) {
	r := &Recording{Title: "</script><b>", Span: 1, Workers: []Worker{{"0", -1}}, Runs: []Run{{End: 1}}}
	var html bytes.Buffer
	if err := Write(&html, []*Recording{r}); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, html.String())[0].Title; got != r.Title {
		t.Errorf("the title was read as %q", got)
	}
}

func TestWriteBoundsRecordings(t *testing.T) {
	for _, n := range []int{0, MaxRecordings + 1} {
		if err := Write(&bytes.Buffer{}, make([]*Recording, n)); err == nil || !strings.Contains(err.Error(), "1 to 4") {
			t.Errorf("%d recordings: %v", n, err)
		}
	}
}
