package journal

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// cancelEnd is jobEnd for a job that was cancelled.
func cancelEnd(key string, at time.Time) Record {
	r := jobEnd(key, at)
	r.Ended.Status.State = api.StateCancelled
	return r
}

func stopped(key string, task, attempt int32) Record {
	return Record{Kind: Stopped, Job: jobID(key), First: task, Attempt: attempt, Node: "n", Elapsed: time.Second, Began: 5}
}

// expiryKeys counts what the journal keeps for the expiry of ended jobs.
func expiryKeys(t *testing.T, j *Journal) (n int) {
	t.Helper()
	must(t, j.store.Scan([]byte{prefixExpiry}, []byte{prefixExpiry + 1}, func([]byte, []byte) error { n++; return nil }))
	return n
}

// TestStopped: where the tasks of a cancelled job were stopped is kept with the job, whether it is
// written with the job's end or later, and is removed with it. It is not that of a later job of the
// same key, and nothing is kept for a job that is not known any more.
func TestStopped(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	o := Options{Retention: time.Hour, Now: clock.Now}
	j, _, _ := open(t, dir, o)
	must(t, appendWait(j, accept("a", 3)))
	must(t, appendWait(j, cancelEnd("a", clock.Now()), stopped("a", 2, 1)))
	must(t, appendWait(j, stopped("a", 0, 1)))
	must(t, appendWait(j, stopped("a", 2, 2), stopped("unknown", 0, 1)))
	want := []StoppedTask{{0, 1, "n", time.Second, 5}, {2, 2, "n", time.Second, 5}}
	check := func() {
		t.Helper()
		if k, err := j.Lookup(jobID("a")); err != nil || k.Ended == nil || !reflect.DeepEqual(k.Ended.Stopped, want) {
			t.Fatalf("%+v, %v", k.Ended, err)
		}
		must(t, j.LastEnded(10, func(e *Ended, _ time.Duration) {
			if !reflect.DeepEqual(e.Stopped, want) {
				t.Errorf("among the last: %+v", e.Stopped)
			}
		}))
		if n, jobs := expiryKeys(t, j), j.EndedJobs(); n != 3 || jobs != 1 {
			t.Errorf("%d keys for %d jobs", n, jobs)
		}
	}
	check()
	must(t, j.Close())
	j, _, _ = open(t, dir, o)
	check()
	clock.advance(time.Hour + time.Second)
	must(t, appendWait(j, accept("a", 3)))
	must(t, appendWait(j, cancelEnd("a", clock.Now())))
	if k, err := j.Lookup(jobID("a")); err != nil || k.Ended == nil || k.Ended.Stopped != nil {
		t.Errorf("of a later job: %+v, %v", k.Ended, err)
	}
	if n, jobs := expiryKeys(t, j), j.EndedJobs(); n != 1 || jobs != 1 {
		t.Errorf("%d keys for %d jobs are left", n, jobs)
	}
	if expired, tooMany := j.Forgotten(); expired != 1 || tooMany != 0 {
		t.Errorf("%d jobs expired, %d were too many", expired, tooMany)
	}
	must(t, j.Close())
}

// TestDamagedStopped: where what is kept of the stop of a task cannot be read, a look-up of its job breaks the
// journal, which names the job and tells the daemon once.
func TestDamagedStopped(t *testing.T) {
	clock := newClock()
	var told error
	j, _, _ := open(t, t.TempDir(), Options{Now: clock.Now, Damaged: func(err error) { told = err }})
	must(t, appendWait(j, accept("a", 3)))
	must(t, appendWait(j, cancelEnd("a", clock.Now()), stopped("a", 2, 1)))
	known, err := j.Lookup(jobID("a"))
	must(t, err)
	var b store.Batch
	b.Set(stoppedKey(nil, known.Ended.At, jobID("a"), 2), []byte{valueVersion, 0xff})
	must(t, j.store.Append(&b, true))
	_, err = j.Lookup(jobID("a"))
	if e := closeDamaged(t, j, err); !strings.Contains(e.Tried, jobID("a").String()) || told != err { //nolint:errorlint // the same error
		t.Errorf("%v, and the daemon is told %v", err, told)
	}
}
