package journal

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestJobsComeBackInOrderOfAcceptance(t *testing.T) {
	dir := t.TempDir()
	j, rep, _ := open(t, dir, Options{Frontend: "f0"})
	if rep.Incarnation != 1 || rep.Jobs != 0 || rep.Torn != nil {
		t.Fatalf("a new journal reports %+v", rep)
	}
	must(t, appendWait(j, accept("b", 3), Record{Kind: Placed, Job: jobID("b"), First: 0, Count: 3, Attempt: 1, Group: 2}))
	must(t, appendWait(j, accept("a", 2)))
	must(t, appendWait(j, accept("gone", 1), taskEnd("gone", 0)))
	must(t, appendWait(j, taskEnd("b", 1), Record{Kind: NewAttempt, Job: jobID("b"), First: 0, Attempt: 2, Losses: 1, Outcome: sched.Lost, Reason: "node n1 was lost"}))
	must(t, appendWait(j, Record{Kind: AppAt, App: "spark", Socket: "127.0.0.1:9"}, jobEnd("gone", time.Now())))
	must(t, j.Close())

	j, rep, got := open(t, dir, Options{Frontend: "f0"})
	must(t, appendWait(j, accept("c", 1)))
	must(t, j.Close())
	if !slices.Equal(got.keys(), []string{"b", "a"}) || rep.Incarnation != 2 || rep.Tasks != 4 || rep.Jobs != 2 || rep.Events != 3 {
		t.Fatalf("got %v, %+v", got.keys(), rep)
	}
	if rep.Apps["spark"] != "127.0.0.1:9" {
		t.Fatalf("the application's address is %q", rep.Apps["spark"])
	}
	if !reflect.DeepEqual(got.subs[0], submission("b", 3)) {
		t.Fatalf("the submission came back as %+v", got.subs[0])
	}
	var kinds []Kind
	for _, e := range got.events["b"] {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []Kind{Placed, TaskEnded, NewAttempt}) || got.events["b"][2].Reason != "node n1 was lost" {
		t.Fatalf("the records came back as %+v", got.events["b"])
	}

	j, rep, got = open(t, dir, Options{})
	must(t, j.Close())
	if !slices.Equal(got.keys(), []string{"b", "a", "c"}) || rep.Incarnation != 3 {
		t.Fatalf("got %v, %+v", got.keys(), rep)
	}
}

func TestLookup(t *testing.T) {
	dir, clk := t.TempDir(), newClock()
	o := Options{Now: clk.Now, Retention: time.Minute}
	j, _, _ := open(t, dir, o)
	check := func(want string) {
		t.Helper()
		k, err := j.Lookup(jobID("k"))
		must(t, err)
		got := "unknown"
		switch {
		case k.Live:
			got = "live"
		case k.Ended != nil:
			got = "ended " + k.Ended.Key + " " + string(k.Ended.Status.State)
		}
		if got != want {
			t.Fatalf("the job is %s, want %s", got, want)
		}
	}
	check("unknown")
	must(t, appendWait(j, accept("k", 1)))
	check("live")
	fourParts(t, appendWait(j, accept("other", 1), accept("k", 1)))
	if k, err := j.Lookup(jobID("other")); err != nil || k.Live {
		t.Fatalf("a job of a refused append is known: %+v, %v", k, err)
	}
	must(t, appendWait(j, jobEnd("k", clk.Now())))
	check("ended k completed")
	must(t, appendWait(j, taskEnd("k", 0))) // late; changes nothing
	must(t, j.Close())
	j, _, _ = open(t, dir, o)
	check("ended k completed")
	clk.advance(time.Minute)
	check("ended k completed")
	clk.advance(1)
	check("unknown")

	// The same key again: the sweep of the first must leave the second.
	must(t, appendWait(j, accept("k", 1), jobEnd("k", clk.Now())))
	clk.advance(2 * time.Second)
	must(t, appendWait(j, accept("x", 1)))
	check("ended k completed")
	must(t, j.Close())
	if _, err := j.Lookup(jobID("k")); err == nil {
		t.Fatal("a closed journal answered")
	}
	fourParts(t, j.Append([]Record{accept("y", 1)}, nil))
	must(t, j.Close())
}

// The journal against a map: whatever is appended, closed and reopened, the live and
// the known jobs follow from the records.
func TestJournalAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, clk := t.TempDir(), newClock()
		defer os.RemoveAll(dir) // each of the checks leaves 35 MB
		o := Options{Now: clk.Now, NoSync: true, Retention: time.Minute}
		j, _, _ := open(t, dir, o)
		events, ended, order := map[string][]Record{}, map[string]time.Time{}, []string(nil)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "key"))
			live := slices.Contains(order, key)
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				if !live {
					must(t, appendWait(j, accept(key, 2)))
					order, events[key] = append(order, key), nil
				}
			case 2, 3:
				e := drawEvent(rt, jobID(key))
				must(t, appendWait(j, e))
				if live {
					events[key] = append(events[key], e)
				}
			case 4:
				must(t, appendWait(j, taskEnd(key, 0), jobEnd(key, clk.Now())))
				if live {
					ended[key] = clk.Now()
					order = slices.DeleteFunc(order, func(k string) bool { return k == key })
				}
				clk.advance(time.Duration(rapid.IntRange(0, 40).Draw(rt, "seconds")) * time.Second)
			case 5:
				must(t, j.Close())
				var got *kept
				j, _, got = open(t, dir, o)
				if !slices.Equal(got.keys(), order) {
					rt.Fatalf("got %v, want %v", got.keys(), order)
				}
				for _, k := range order {
					if a, b := got.events[k], events[k]; len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
						rt.Fatalf("records of %s: got %+v, want %+v", k, a, b)
					}
				}
			}
			known, err := j.Lookup(jobID(key))
			must(t, err)
			at, was := ended[key]
			wantEnded := was && !slices.Contains(order, key) && !clk.Now().After(at.Add(time.Minute))
			if known.Live != slices.Contains(order, key) || (known.Ended != nil) != wantEnded {
				rt.Fatalf("%s is known as %+v, ended %v ago: %v", key, known, clk.Now().Sub(at), was)
			}
		}
		must(t, j.Close())
	})
}

func TestAppendIsBounded(t *testing.T) {
	j, _, _ := open(t, t.TempDir(), Options{MaxQueued: 2000})
	hold, held := make(chan struct{}), make(chan struct{})
	must(t, j.Append([]Record{accept("first", 1)}, func(error) { close(held); <-hold }))
	<-held
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = j.Append([]Record{accept(fmt.Sprint(n), 1)}, nil)
	}
	e := fourParts(t, err)
	if e.Problem != api.Busy || e.RetryAfter <= 0 || !strings.Contains(e.What, "2000") {
		t.Fatalf("the refusal is %+v", e)
	}
	must(t, j.Append([]Record{taskEnd("first", 0)}, nil)) // results are still accepted
	for err = nil; err == nil && n < 1000; n++ {
		err = j.Append([]Record{taskEnd("first", 0)}, nil)
	}
	if e := fourParts(t, err); e.Problem != api.Busy || !strings.Contains(e.What, "8000") {
		t.Fatalf("the refusal is %+v", e)
	}
	close(hold)
	must(t, j.Close())
}

func TestFullDiskRefusesJobsAndAcceptsEnds(t *testing.T) {
	clk := newClock()
	o := Options{Now: clk.Now, MaxBytes: 1}
	j, _, _ := open(t, t.TempDir(), o)
	e := fourParts(t, appendWait(j, accept("k", 1)))
	if e.Problem != api.Busy || !strings.Contains(e.What, "the limit is 1") {
		t.Fatalf("the refusal is %+v", e)
	}
	must(t, appendWait(j, taskEnd("k", 0)))
	must(t, j.Close())

	j, _, err := Open(t.TempDir(), Options{Now: clk.Now, MinFree: 1 << 62}, func(*Job) error { return nil })
	must(t, err)
	if e := fourParts(t, appendWait(j, accept("k", 1))); e.Problem != api.Busy || !strings.Contains(e.What, "free") {
		t.Fatalf("the refusal is %+v", e)
	}
	must(t, j.Close())
}

// The journal grows with what is unfinished and with the retention, not with what was
// appended to it.
func TestEndedJobsLeaveNothingBehind(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	o := Options{Now: clk.Now, NoSync: true, Retention: time.Minute}
	j, _, _ := open(t, dir, o)
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	payload := strings.Repeat("0123456789abcdef", 4096)
	for r := range rounds {
		var wg sync.WaitGroup
		for i := range 64 {
			key := fmt.Sprint(r, "-", i)
			rec := accept(key, 1)
			rec.Submission.Request.Tasks[0].Payload = api.Payload{Message: []byte(key + payload)}
			wg.Add(1)
			must(t, j.Append([]Record{rec}, func(error) { wg.Done() }))
			for n := range 4 {
				wg.Add(1)
				must(t, j.Append([]Record{taskEnd(key, n)}, func(error) { wg.Done() }))
			}
		}
		wg.Wait()
		for i := range 64 {
			wg.Add(1)
			must(t, j.Append([]Record{jobEnd(fmt.Sprint(r, "-", i), clk.Now())}, func(error) { wg.Done() }))
		}
		wg.Wait()
		clk.advance(2 * time.Minute)
	}
	must(t, appendWait(j, accept("last", 1)))
	must(t, j.Close())
	j, rep, got := open(t, dir, o)
	must(t, appendWait(j, taskEnd("last", 0)))
	left := 0
	must(t, j.store.Scan([]byte{1}, nil, func(key, _ []byte) error {
		if key[0] != prefixRing {
			left++
		}
		return nil
	}))
	must(t, j.Close())
	if !slices.Equal(got.keys(), []string{"last"}) || rep.Jobs != 1 {
		t.Fatalf("%v are left", got.keys())
	}
	if left != 6 { // the last job, a bundle of it, the incarnation, the scope of job ids, the key of launch secrets, and the age
		t.Fatalf("%d keys are left", left)
	}
}

func TestManyBundlesAreDeletedByRange(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{NoSync: true})
	must(t, appendWait(j, accept("before", 1)))
	must(t, appendWait(j, accept("big", 1)))
	must(t, appendWait(j, accept("after", 1)))
	for i := range pointDeletes + 10 {
		must(t, appendWait(j, taskEnd("big", i)))
	}
	must(t, appendWait(j, jobEnd("big", time.Now())))
	must(t, j.Close())
	j, _, got := open(t, dir, Options{})
	must(t, j.Close())
	if !slices.Equal(got.keys(), []string{"before", "after"}) {
		t.Fatalf("%v are left", got.keys())
	}
}

// A record that is larger than what a batch gathers is a batch of its own.
func TestRecordLargerThanABatch(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{NoSync: true})
	large := accept("large", 1)
	large.Submission.Request.Tasks[0].Payload = api.Payload{Message: make([]byte, batchBytes+1)}
	must(t, appendWait(j, large))
	must(t, appendWait(j, accept("next", 1)))
	must(t, j.Close())
	j, _, got := open(t, dir, Options{})
	must(t, j.Close())
	if want := []string{"large", "next"}; !slices.Equal(got.keys(), want) {
		t.Fatalf("got %v, want %v", got.keys(), want)
	}
}

// docs/adr/0007-journal.md: jobs are refused "past 64 MiB of waiting records, past 64 GiB on the disk, or
// when less than 256 MiB of the disk is free".
func TestDefaultBounds(t *testing.T) {
	o := Options{}.withDefaults()
	if o.MaxQueued != 64<<20 || o.MaxBytes != 64<<30 || o.MinFree != 256<<20 || o.Retention != time.Hour {
		t.Errorf("waiting records %d, on the disk %d, free %d bytes; retention %v", o.MaxQueued, o.MaxBytes, o.MinFree, o.Retention)
	}
	if o := (Options{MaxQueued: 1, MaxBytes: 2, MinFree: 3, Retention: 4}).withDefaults(); o.MaxQueued != 1 || o.MaxBytes != 2 || o.MinFree != 3 || o.Retention != 4 {
		t.Errorf("bounds that are set became %d, %d, %d and %v", o.MaxQueued, o.MaxBytes, o.MinFree, o.Retention)
	}
}
