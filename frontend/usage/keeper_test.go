package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// began is when the jobs of tests ended: a while ago, and not so long that they are not kept.
var began = float64(time.Now().Add(-15 * time.Minute).Unix())

// job returns a job that ended that many seconds after began.
func job(id string, after float64, change ...func(*api.JobUsage)) *api.JobUsage {
	j := &api.JobUsage{
		Job: id, Name: "nightly", Owner: "team/alice", Submitter: "alice", App: "app", Class: "short", State: api.StateCompleted, Submitted: began - 10, Ended: began + after,
		Tasks: 2, Completed: 2, Attempts: 3, Again: 1, SlotSeconds: 1.5, LostSeconds: 0.25, Started: true, Wait: 0.125, LongestWait: 0.5,
	}
	for _, c := range change {
		c(j)
	}
	return j
}

// kept is a keeper that runs until stop is called.
type kept struct {
	*Keeper
	stop func()
}

func start(t testing.TB, path string, change ...func(*Options)) *kept {
	t.Helper()
	o := Options{Path: path, Frontend: "f", Retention: time.Hour, Limit: 1000, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	k := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { k.Run(ctx); close(done) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-done
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &kept{k, stop}
}

func (k *kept) ask(t testing.TB, q api.HistoryQuery) api.HistoryPage {
	t.Helper()
	p, err := k.History(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ids(p api.HistoryPage) (list []string) {
	for _, j := range p.Jobs {
		list = append(list, j.Job)
	}
	return list
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s:\n%s\nwant\n%s", what, g, w)
	}
}

// TestJobsAreKeptOnce: a job is found as it was added, also after a restart, and once, however
// often it is added; another job under its id is another job.
func TestJobsAreKeptOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	k := start(t, path)
	expect(t, "before the first job", k.ask(t, api.HistoryQuery{}).Kept, 0)
	want := job("a", 0)
	k.Add(want)
	k.Add(want)
	again := job("a", 5, func(j *api.JobUsage) { j.Submitted += 3 })
	k.Add(again)
	for range 2 {
		p := k.ask(t, api.HistoryQuery{})
		expect(t, "jobs", p.Jobs, []api.JobUsage{*want, *again})
		expect(t, "kept", p.Kept, 2)
		expect(t, "the oldest", p.Oldest, want.Ended)
		k.stop()
		k = start(t, path)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestLateReports: what nodes report of a job's attempts after its end is added to it, and stays
// when the job is written again.
func TestLateReports(t *testing.T) {
	k := start(t, filepath.Join(t.TempDir(), "history"))
	waited := job("waited", 0)
	early := job("early", 1, func(j *api.JobUsage) { // cancelled before a start was reported
		j.Started, j.Wait, j.LongestWait, j.LostSeconds = false, 0, 0, 0
	})
	k.Add(waited)
	k.Add(early)
	k.AddLost(waited, 2*time.Second, 9*time.Second)
	k.AddLost(early, 3*time.Second, 2*time.Second)
	k.AddLost(early, time.Second, time.Second)
	k.AddLost(job("unknown", 1), time.Second, time.Second)
	k.Add(waited)
	k.Add(early)
	want := []api.JobUsage{*waited, *early}
	want[0].LostSeconds, want[0].LongestWait = 2.25, 9
	want[1].LostSeconds, want[1].Started, want[1].Wait, want[1].LongestWait = 4, true, 1, 2
	expect(t, "jobs", k.ask(t, api.HistoryQuery{}).Jobs, want)
}

// TestRefill: a keeper whose process was killed finds in the journal what it lacks, and what it
// has stays as it is.
func TestRefill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	k := start(t, path)
	k.Add(job("a", 0))
	k.ask(t, api.HistoryQuery{})
	k.stop()
	k = start(t, path, func(o *Options) {
		o.Refill = func(most int, add func(*api.JobUsage)) error {
			if most != 1000 {
				t.Errorf("it asks for %d jobs", most)
			}
			add(job("a", 0, func(j *api.JobUsage) { j.LostSeconds = 0 }))
			for i := range 3 * batchJobs {
				add(job(fmt.Sprintf("b%05d", i), 1+float64(i)/100))
			}
			return nil
		}
		o.Limit = 1000
	})
	p := k.ask(t, api.HistoryQuery{Limit: 1})
	expect(t, "kept", p.Kept, 1+3*batchJobs)
	if p.Jobs[0].LostSeconds != 0.25 {
		t.Errorf("a job that was there was replaced: %+v", p.Jobs[0])
	}
	k.Add(job("c", 600))
	expect(t, "kept with the next job", k.ask(t, api.HistoryQuery{Limit: 1}).Kept, 1000)
}

// TestBounds: the oldest jobs are removed at the limit, others at the end of their retention,
// and a job that finds no room is counted; no caller waits.
func TestBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	k := start(t, path, func(o *Options) { o.Limit = 3 })
	for i := range 5 {
		k.Add(job(fmt.Sprint(i), float64(i)))
	}
	p := k.ask(t, api.HistoryQuery{})
	expect(t, "at the limit", ids(p), []string{"2", "3", "4"})
	expect(t, "figures", []int64{p.Kept, p.Limit, p.Removed, p.Dropped}, []int64{3, 3, 2, 0})
	k.stop()

	k = start(t, path, func(o *Options) { o.Retention = time.Nanosecond })
	expect(t, "after the retention", len(k.ask(t, api.HistoryQuery{}).Jobs), 0)
	expect(t, "expired", k.Stats(), Stats{Expired: 3})
	k.stop()

	full := New(Options{Path: path, Retention: time.Hour, Limit: 10, Log: slog.New(slog.DiscardHandler)})
	for i := range queued + 7 { // nothing is written meanwhile
		full.Add(job(fmt.Sprint(i), 0))
	}
	expect(t, "without room", full.Stats(), Stats{NoRoom: 7})

	off := start(t, filepath.Join(t.TempDir(), "none"), func(o *Options) { o.Retention = 0 })
	off.Add(job("a", 0))
	if p := off.ask(t, api.HistoryQuery{}); p.Problem != "history_retention is 0" {
		t.Errorf("%+v", p)
	}
	var none *Keeper
	none.Add(job("a", 0))
}

// TestSelection: every filter selects, pages follow each other without gaps and repetitions, and
// a submitter sees its own jobs.
func TestSelection(t *testing.T) {
	k := start(t, filepath.Join(t.TempDir(), "history"))
	k.Add(job("a", 0))
	k.Add(job("b", 1, func(j *api.JobUsage) { j.Owner, j.Submitter, j.Class = "team", "bob", "long" }))
	k.Add(job("c", 2, func(j *api.JobUsage) { j.Owner, j.Submitter, j.State, j.Name = "teams", "", api.StateFailed, "other" }))
	for _, c := range []struct {
		q    api.HistoryQuery
		want []string
	}{
		{api.HistoryQuery{}, []string{"a", "b", "c"}},
		{api.HistoryQuery{Descending: true}, []string{"c", "b", "a"}},
		{api.HistoryQuery{Owner: "team"}, []string{"a", "b"}},
		{api.HistoryQuery{Owner: "team/alice"}, []string{"a"}},
		{api.HistoryQuery{Owner: "tea%"}, nil},
		{api.HistoryQuery{Class: "long"}, []string{"b"}},
		{api.HistoryQuery{State: "failed"}, []string{"c"}},
		{api.HistoryQuery{Name: "other"}, []string{"c"}},
		{api.HistoryQuery{Job: "b"}, []string{"b"}},
		{api.HistoryQuery{Job: "b' OR 1=1 --"}, nil},
		{api.HistoryQuery{Since: began + 1}, []string{"b", "c"}},
		{api.HistoryQuery{Before: began + 1}, []string{"a"}},
		{api.HistoryQuery{Limit: 2}, []string{"a", "b"}},
	} {
		p := k.ask(t, c.q)
		expect(t, fmt.Sprintf("%+v", c.q), ids(p), c.want)
		if p.More != (c.q.Limit == 2) {
			t.Errorf("%+v: more is %v", c.q, p.More)
		}
	}
	for who, want := range map[string][]string{"alice": {"a"}, "bob": {"b"}, "": nil, "eve": nil} {
		p, err := k.History(t.Context(), api.HistoryQuery{}, &who)
		if err != nil || !slices.Equal(ids(p), want) {
			t.Errorf("%q sees %v, %v", who, ids(p), err)
		}
	}
	for _, descending := range []bool{false, true} {
		var got []string
		q := api.HistoryQuery{Limit: 1, Descending: descending}
		for more := true; more; {
			p := k.ask(t, q)
			got, more = append(got, ids(p)...), p.More
			last := p.Jobs[len(p.Jobs)-1]
			q.AfterJob, q.AfterEnded, q.AfterSubmitted = last.Job, last.Ended, last.Submitted
		}
		slices.Sort(got)
		expect(t, "pages", got, []string{"a", "b", "c"})
	}
}

// TestSums: jobs are summed up by each key and by several.
func TestSums(t *testing.T) {
	k := start(t, filepath.Join(t.TempDir(), "history"))
	k.Add(job("a", 0))
	k.Add(job("b", 0, func(j *api.JobUsage) { j.State, j.Wait, j.LongestWait = api.StateFailed, 4, 8 }))
	k.Add(job("c", 0, func(j *api.JobUsage) {
		j.Owner, j.Class, j.State, j.Started, j.Wait, j.LongestWait = "bob", "long", api.StateCancelled, false, 0, 0
	}))
	p := k.ask(t, api.HistoryQuery{By: []string{api.ByOwner, api.ByClass}})
	expect(t, "by owner and class", p.Sums, []api.UsageSum{
		{Keys: []string{"bob", "long"}, Jobs: 1, Cancelled: 1, Tasks: 2, Attempts: 3, Again: 1, SlotSeconds: 1.5, LostSeconds: 0.25},
		{
			Keys: []string{"team/alice", "short"}, Jobs: 2, Completed: 1, Failed: 1, Tasks: 4, Attempts: 6, Again: 2, SlotSeconds: 3, LostSeconds: 0.5,
			Started: 2, WaitSeconds: 4.125, LongestWait: 8, Buckets: []int32{api.WaitBucket(0.125), api.WaitBucket(4)}, Counts: []int64{1, 1},
		},
	})
	for _, key := range api.HistoryKeys() {
		var jobs int64
		for _, s := range k.ask(t, api.HistoryQuery{By: []string{key}}).Sums {
			jobs += s.Jobs
			if key == api.ByDay && s.Keys[0] != time.Unix(int64(began), 0).UTC().Format(time.DateOnly) {
				t.Errorf("the day is %q", s.Keys[0])
			}
		}
		expect(t, "jobs by "+key, jobs, 3)
	}
	_, err := k.History(t.Context(), api.HistoryQuery{By: []string{"job; DROP TABLE jobs"}}, nil)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || e.Next == "" {
		t.Error(err)
	}
}

// TestManySums: more lines than an answer may have are refused with the limit.
func TestManySums(t *testing.T) {
	k := start(t, filepath.Join(t.TempDir(), "history"), func(o *Options) { o.Limit = 10_000 })
	for i := range api.HistorySums + 1 {
		k.Add(job(fmt.Sprint(i), 0, func(j *api.JobUsage) { j.Name = fmt.Sprint("work ", i) }))
	}
	_, err := k.History(t.Context(), api.HistoryQuery{By: []string{api.ByName}}, nil)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || e.What != "it has more than 5000 lines" {
		t.Error(err)
	}
	if n := len(k.ask(t, api.HistoryQuery{By: []string{api.ByOwner}}).Sums); n != 1 {
		t.Errorf("%d sums", n)
	}
}

// TestDamage: a store that cannot be read is put aside, and one that cannot be made is reported.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	k := start(t, path)
	k.Add(job("before", 0))
	k.ask(t, api.HistoryQuery{})
	k.stop()
	manifests, err := filepath.Glob(filepath.Join(path, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, file := range manifests {
		if err := os.WriteFile(file, []byte("no manifest, but long enough to be read as one"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k = start(t, path)
	k.Add(job("a", 0))
	expect(t, "after damage", ids(k.ask(t, api.HistoryQuery{})), []string{"a"})
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k = start(t, filepath.Join(file, "history"))
	k.Add(job("a", 0))
	if p := k.ask(t, api.HistoryQuery{}); p.Problem == "" || p.Dropped != 1 || p.Kept != 0 {
		t.Errorf("%+v", p)
	}
}

// TestDiskThatFails: when the disk fails, jobs that end are counted as dropped, queries say why there is
// no history, and the keeper stops.
func TestDiskThatFails(t *testing.T) {
	if os.Getenv(leaky) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDiskThatFails$") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), leaky+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, faults := range []store.Faults{{WriteErrors: 12}, {FsyncErrors: 8}, {FullAfter: 20_000}} {
		path := filepath.Join(t.TempDir(), "history")
		k := start(t, path, func(o *Options) { o.FS = faults.On(store.HostFS()) })
		n := 0
		for p := (api.HistoryPage{}); p.Problem == ""; n++ {
			if n > 10_000 {
				t.Fatalf("%+v: %+v", faults, p)
			}
			k.Add(job(fmt.Sprint("job-", n), float64(n)/1000))
			p = k.ask(t, api.HistoryQuery{Limit: 1})
		}
		k.Add(job("last", 100))
		if p := k.ask(t, api.HistoryQuery{Limit: 1}); p.Dropped == 0 || len(p.Jobs) > 0 || !strings.Contains(p.Problem, path) {
			t.Errorf("%+v: %+v", faults, p)
		}
		k.stop()
	}
}

// TestFolderThatCouldNotBeMade: what ended while the folder could not be made is entered from the journal
// when it can be, and is not reported as missing then.
func TestFolderThatCouldNotBeMade(t *testing.T) {
	above := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(above, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := start(t, filepath.Join(above, "history"), func(o *Options) {
		o.Refill = func(_ int, add func(*api.JobUsage)) error {
			add(job("a", 0))
			add(job("b", 1))
			return nil
		}
	})
	k.Add(job("a", 0))
	if p := k.ask(t, api.HistoryQuery{}); p.Dropped != 1 {
		t.Errorf("without a folder: %+v", p)
	}
	if err := os.Remove(above); err != nil {
		t.Fatal(err)
	}
	k.Add(job("b", 1))
	p := k.ask(t, api.HistoryQuery{})
	if expect(t, "with a folder", ids(p), []string{"a", "b"}); p.Dropped != 0 {
		t.Errorf("with a folder %d jobs are dropped", p.Dropped)
	}
}
