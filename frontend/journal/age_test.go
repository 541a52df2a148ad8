package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// knownEnd reports whether the end of the job is known.
func knownEnd(t *testing.T, j *Journal, key string) bool {
	t.Helper()
	k, err := j.Lookup(jobID(key))
	must(t, err)
	return k.Ended != nil
}

// No key is forgotten because the wall clock jumps, in whichever direction, while the
// journal is open or closed; keys are forgotten by the passing of time.
func TestWallClockForgetsNoKey(t *testing.T) {
	dir, wall, elapsed := t.TempDir(), newClock(), time.Duration(0)
	o := Options{Now: wall.Now, Elapsed: func() time.Duration { return elapsed }, Retention: time.Hour}
	j, _, _ := open(t, dir, o)
	must(t, appendWait(j, accept("k", 1), jobEnd("k", wall.Now())))
	check := func(want bool, when string) {
		t.Helper()
		elapsed += sweepEvery
		must(t, appendWait(j, accept(when, 1), jobEnd(when, wall.Now()))) // sweeps
		if known := knownEnd(t, j, "k"); known != want {
			t.Fatalf("%s: known %v, want %v", when, known, want)
		}
	}
	wall.advance(2 * time.Hour)
	check(true, "after a jump forward")
	wall.advance(-24 * time.Hour)
	check(true, "after a jump backward")
	elapsed += 30 * time.Minute
	must(t, j.Close())
	wall.advance(48 * time.Hour)
	elapsed = 0 // of the next process
	j, _, _ = open(t, dir, o)
	check(true, "after a jump while it was closed")
	elapsed += 29 * time.Minute
	check(true, "an hour less what the sweeps took after the end")
	elapsed += time.Minute
	check(false, "an hour after the end")
	must(t, j.Close())
}

// withoutAge is a store in which no age was written.
type withoutAge struct{ backing }

func (s withoutAge) Get(key []byte) ([]byte, error) {
	if string(key) == string(metaKey(endedMeta)) {
		return nil, nil
	}
	return s.backing.Get(key)
}

// A journal of an earlier program has no age: its ended jobs are kept for the retention
// from then on.
func TestAgeOfAnEarlierJournal(t *testing.T) {
	dir, wall, elapsed := t.TempDir(), newClock(), time.Duration(0)
	o := Options{Now: wall.Now, Elapsed: func() time.Duration { return elapsed }, Retention: time.Hour}
	j, _, _ := open(t, dir, o)
	must(t, appendWait(j, accept("k", 1), jobEnd("k", wall.Now())))
	must(t, j.Close())
	o.openStore = func(dir string, lock *store.DirLock, so store.Options) (backing, error) {
		s, err := openDisk(dir, lock, so)
		return withoutAge{s}, err
	}
	wall.advance(1000 * time.Hour)
	j, _, _ = open(t, dir, o)
	if n := j.EndedJobs(); n != 1 || !knownEnd(t, j, "k") {
		t.Errorf("%d ended jobs are counted, want the 1 that is kept", n)
	}
	elapsed = time.Hour + 1
	if knownEnd(t, j, "k") {
		t.Error("it is known after its retention")
	}
	must(t, j.Close())
}

// When there are too many ended jobs the oldest are forgotten, but none that ended a moment
// ago; the counts outlive the process.
func TestEndedJobsAreBounded(t *testing.T) {
	dir, elapsed := t.TempDir(), time.Duration(0)
	o := Options{Elapsed: func() time.Duration { return elapsed }, NoSync: true, MaxEnded: 10}
	j, _, _ := open(t, dir, o)
	for i := range 30 {
		elapsed += time.Second
		key := fmt.Sprint(i)
		must(t, appendWait(j, accept(key, 1), jobEnd(key, time.Now())))
	}
	if n := j.EndedJobs(); n > 12 || n < 10 {
		t.Errorf("%d ended jobs are kept, want 10 and those of the last moment", n)
	}
	if expired, tooMany := j.Forgotten(); expired != 0 || tooMany != 30-uint64(j.EndedJobs()) {
		t.Errorf("%d are counted as expired, %d as too many", expired, tooMany)
	}
	for i := range 30 {
		if known, want := knownEnd(t, j, fmt.Sprint(i)), i >= 30-int(j.EndedJobs()); known != want {
			t.Errorf("job %d is known: %v", i, known)
		}
	}
	kept := j.EndedJobs()
	must(t, j.Close())
	elapsed = 0
	j, _, _ = open(t, dir, o)
	if n := j.EndedJobs(); n != kept {
		t.Errorf("%d ended jobs after the opening, want %d", n, kept)
	}
	for i := range 30 { // all in the same moment: their submissions may still be repeated
		key := fmt.Sprint("burst-", i)
		must(t, appendWait(j, accept(key, 1), jobEnd(key, time.Now())))
	}
	for i := range 30 {
		if !knownEnd(t, j, fmt.Sprint("burst-", i)) {
			t.Errorf("job %d of the last moment is forgotten", i)
		}
	}
	must(t, j.Close())
}
