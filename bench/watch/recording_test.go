package watch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = int64(time.Millisecond)

// history writes events given as "MS JOB TASK EVENT WHERE"; task - is the job.
func history(t *testing.T, lines ...string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := measure.NewHistoryWriter(&out)
	for _, line := range lines {
		f := strings.SplitN(line, " ", 5)
		e := measure.Event{Job: f[1], Task: measure.OfJob, Event: f[3]}
		var at int64
		_, err := fmt.Sscan(f[0], &at)
		e.Time = at * ms
		if f[2] != "-" {
			_, taskErr := fmt.Sscan(f[2], &e.Task)
			err = errors.Join(err, taskErr)
			e.Attempt = 1
		}
		if len(f) > 4 {
			e.Where = f[4]
		}
		if err := errors.Join(err, w.Add(e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func recording(t *testing.T, o Options, lines ...string) *Recording {
	t.Helper()
	if o.Cutoff == 0 {
		o.Cutoff = time.Second
	}
	r, err := Read(history(t, lines...), "h", o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Runs {
		r.Runs[i].job = 0
	}
	return r
}

// A simulated run of Pigeon: the master launches, so its group's queue is where the
// task waited, and the worker is of that group.
func TestPigeonsHistory(t *testing.T) {
	r := recording(t, Options{Title: "a title", Workers: 4},
		"100 1 - submitted distributor 1", "150 1 0 launched master 1", "151 1 0 started worker 2",
		"300 2 - submitted distributor 1", "1300 2 0 launched master 1", "1301 2 0 started worker 3",
		"2151 1 0 ended worker 2", "2152 1 0 reported distributor 1", "2152 1 - completed distributor 1",
		"2200 2 0 ended worker 3", "2201 2 - completed distributor 1")
	want := &Recording{
		Title: "a title", Span: 2101 * ms,
		Workers: []Worker{{"0", 1}, {"1", 1}, {"2", 1}, {"3", 1}},
		Runs: []Run{
			{Worker: 2, Start: 51 * ms, End: 2051 * ms, Wait: 51 * ms, Long: true},
			{Worker: 3, Start: 1201 * ms, End: 2100 * ms, Wait: 1001 * ms},
		},
		Jobs: []Job{{Completed: 2052 * ms, Took: 2052 * ms, Long: true}, {Completed: 2101 * ms, Took: 1901 * ms}},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("read\n%+v\nwant\n%+v", r, want)
	}
}

// With Sparrow the distributor launches, so the task's reservation waited at the
// worker.
func TestSparrowsHistory(t *testing.T) {
	r := recording(t, Options{},
		"0 1 - submitted distributor 1", "900 1 0 launched distributor 1", "901 1 0 started worker 1", "1000 1 0 ended worker 1")
	if run := r.Runs[0]; !run.AtWorker || run.Wait != 901*ms || r.AtWorkers != 1 || r.Workers[0].Group != -1 {
		t.Errorf("%+v", r)
	}
}

// A master may launch to a worker that is busy: then the task waits there.
func TestLaunchedAheadOfTime(t *testing.T) {
	r := recording(t, Options{},
		"0 1 - submitted distributor 1", "1 1 0 launched master 0", "901 1 0 started worker 1", "1000 1 0 ended worker 1")
	if !r.Runs[0].AtWorker || r.Workers[0].Group != 0 {
		t.Errorf("%+v", r)
	}
}

func TestSuspension(t *testing.T) {
	r := recording(t, Options{},
		"0 1 - submitted d", "0 1 0 started worker 0", "600 1 0 suspended worker 0", "700 1 0 resumed worker 0", "1200 1 0 ended worker 0",
		"600 2 - submitted d", "600 2 0 started worker 0", "650 2 0 suspended worker 0", "700 2 0 ended worker 0")
	want := []Run{{Start: 0, End: 600 * ms, Long: true}, {Start: 600 * ms, End: 650 * ms}, {Start: 700 * ms, End: 1200 * ms, Long: true, AtWorker: true}}
	if !reflect.DeepEqual(r.Runs, want) || !reflect.DeepEqual(r.Stops, []Stop{{0, 600 * ms, 700 * ms}, {0, 650 * ms, 700 * ms}}) {
		t.Errorf("%+v", r)
	}
}

// A live history has no launches, its workers are named by node, and the report is
// the end.
func TestLiveHistory(t *testing.T) {
	lines := []string{
		"0 1 - submitted frontend frontend-0", "100 1 0 started worker node-1-003/0", "150 1 0 reported frontend frontend-0", "150 1 - completed frontend frontend-0",
		"20 2 - submitted frontend frontend-0", "20 2 0 started worker node-0-000/0", "30 2 0 reported frontend frontend-0",
	}
	r := recording(t, Options{Speedup: 10, Cutoff: 400 * time.Millisecond}, lines...)
	if !reflect.DeepEqual(r.Workers, []Worker{{"node-0-000/0", 0}, {"node-1-003/0", 1}}) || r.Span != 1500*ms {
		t.Errorf("%+v", r)
	}
	if want := (Run{Worker: 1, Start: 1000 * ms, End: 1500 * ms, Wait: 1000 * ms, Long: true}); r.Runs[1] != want || r.Runs[0].Long {
		t.Errorf("%+v", r.Runs)
	}
	if r := recording(t, Options{Queues: AtWorker}, lines...); !r.Runs[1].AtWorker {
		t.Errorf("with queues at workers: %+v", r.Runs)
	}
}

// A lost attempt frees its worker; the task waits again from then on.
func TestLostAttempt(t *testing.T) {
	r := recording(t, Options{},
		"0 1 - submitted d", "0 1 0 started worker 0", "100 1 0 lost worker 0", "250 1 0 started worker 1", "350 1 0 started worker 2", "400 1 0 ended worker 2")
	want := []Run{{Worker: 0, End: 100 * ms}, {Worker: 1, Start: 250 * ms, End: 350 * ms, Wait: 150 * ms}, {Worker: 2, Start: 350 * ms, End: 400 * ms}}
	if !reflect.DeepEqual(r.Runs, want) {
		t.Errorf("%+v", r.Runs)
	}
}

// The tasks of a job that was cancelled, or failed early, end with it: a live history has no event
// of their own.
func TestStoppedJobs(t *testing.T) {
	for how, jobs := range map[string]int{measure.Cancelled: 0, measure.Failed: 1} {
		r := recording(t, Options{},
			"0 1 - submitted d", "0 1 0 started worker 0", "0 1 1 started worker 1", "50 1 1 reported d", "100 1 - "+how+" d",
			"150 2 - submitted d", "900 2 0 started worker 0", "950 2 0 reported d")
		want := []Run{{Worker: 0, End: 100 * ms}, {Worker: 1, End: 50 * ms}, {Worker: 0, Start: 900 * ms, End: 950 * ms, Wait: 750 * ms}}
		if !reflect.DeepEqual(r.Runs, want) || len(r.Jobs) != jobs {
			t.Errorf("%s: %+v, %+v", how, r.Runs, r.Jobs)
		}
	}
}

func TestUntilAndUnended(t *testing.T) {
	r := recording(t, Options{Until: 500 * time.Millisecond},
		"0 1 - submitted d", "0 1 0 started worker 0", "100 2 - submitted d", "400 2 0 started worker 1", "900 1 0 ended worker 0")
	if r.Span != 400*ms || len(r.Runs) != 2 || r.Runs[0].End != 400*ms {
		t.Errorf("%+v", r)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := Read(history(t, "0 1 - submitted d"), "run.jsonl", Options{}); err == nil || !strings.Contains(err.Error(), "run.jsonl has no task that ran") {
		t.Errorf("without runs: %v", err)
	}
	if _, err := Read(strings.NewReader("{"), "run.jsonl", Options{}); err == nil || !strings.Contains(err.Error(), "run.jsonl: line 1") {
		t.Errorf("no history: %v", err)
	}
	long := history(t, "0 1 - submitted d", "0 1 0 started worker 0", "2000 1 1 started worker 0", "3000 1 2 started worker 0")
	if _, err := read(long, "run.jsonl", Options{}, 2); err == nil || !strings.Contains(err.Error(), "more than 2 runs") || !strings.Contains(err.Error(), "at most 3s") {
		t.Errorf("too long: %v", err)
	}
}

// FuzzRead: a history is refused, or makes a page whose numbers are in range.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"time":0,"job":"1","task":0,"attempt":1,"event":"started","where":"worker 3"}` + "\n" + `{"time":1,"job":"1","task":0,"attempt":1,"event":"suspended","where":"worker 3"}`))
	f.Add([]byte(`{"time":0,"job":"1","task":0,"event":"launched","where":"master 7"}` + "\n" + `{"time":-1,"job":"1","task":0,"event":"started","where":"worker node-1-2/3"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text), "fuzz", Options{Cutoff: time.Second})
		if err != nil {
			return
		}
		for _, run := range r.Runs {
			if run.Worker < 0 || run.Worker >= len(r.Workers) {
				t.Fatalf("%+v of %d workers", run, len(r.Workers))
			}
		}
		var out bytes.Buffer
		if err := Write(&out, []*Recording{r}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPageIsSelfContained(t *testing.T) {
	for _, word := range []string{"http:", "https:", "<link", "src=", "@import", "url("} {
		if strings.Contains(page, word) {
			t.Errorf("the page reaches out by %q", word)
		}
	}
	if n := strings.Count(page, placeOfData); n != 1 {
		t.Errorf("%d places for data", n)
	}
	if s, err := os.Stat("page.html"); err != nil || s.Size() > 32<<10 {
		t.Errorf("the page without data: %v, %v", s, err)
	}
}
