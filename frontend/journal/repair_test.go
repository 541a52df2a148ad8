package journal

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// smallTables makes the store write and merge tables often.
func smallTables(dir string, lock *store.DirLock, o store.Options) (backing, error) {
	o.MemtableBytes = 128 << 10
	return openDisk(dir, lock, o)
}

// endJobs accepts and ends jobs whose results cannot be compressed.
func endJobs(t *testing.T, j *Journal, name string, jobs, size int, now time.Time) {
	t.Helper()
	for i := range jobs {
		key := fmt.Sprint(name, "-", i)
		end := jobEnd(key, now)
		end.Ended.Results = make([]byte, size)
		for k := range end.Ended.Results {
			end.Ended.Results[k] = byte(rand.Uint32())
		}
		must(t, appendWait(j, accept(key, 1), end))
	}
}

// flip changes bytes of every table of a closed journal that has more than that many bytes: at these parts in
// a hundred of the table.
func flip(t *testing.T, dir string, larger int, at ...int) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	flipped := false
	for _, table := range tables {
		data, err := os.ReadFile(table)
		must(t, err)
		if len(data) > larger {
			for _, percent := range at {
				data[len(data)*percent/100] ^= 1
			}
			must(t, os.WriteFile(table, data, 0o600))
			flipped = true
		}
	}
	if !flipped {
		t.Fatal("no table is as large")
	}
}

// TestDamagedTableIsMerged: where the store merges a table in which ended jobs are damaged, the journal goes
// on, and the store merges the table after that. Of the ended jobs those that were damaged are still refused,
// until their retention is over.
func TestDamagedTableIsMerged(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	var log bytes.Buffer
	o := Options{Retention: time.Hour, Now: clock.Now, Logger: slog.New(slog.NewTextHandler(&log, nil)), openStore: smallTables}
	const jobs = 200
	big := o
	big.openStore = nil
	j, _, _ := open(t, dir, big)
	endJobs(t, j, "ended", jobs, 4000, clock.Now())
	must(t, appendWait(j, accept("unfinished", 3)))
	for range 2 { // the second opening writes what is in the log to a table
		must(t, j.Close())
		j, _, _ = open(t, dir, big)
	}
	must(t, j.Close())
	flip(t, dir, jobs*4000, 1, 30, 31, 75)

	j, rep, got := open(t, dir, o)
	if rep.Jobs != 1 || !slices.Equal(got.keys(), []string{"unfinished"}) {
		t.Errorf("it has %v, %v", rep, got.keys())
	}
	unreadable := func() (n int) {
		for i := range jobs {
			known, err := j.Lookup(jobID(fmt.Sprint("ended-", i)))
			switch {
			case IsDamagedJob(err):
				n++
			case err != nil:
				t.Error(err)
			case known.Ended == nil:
				t.Errorf("ended-%d is forgotten", i)
			}
		}
		return n
	}
	damaged := unreadable()
	if damaged == 0 || damaged > 10 {
		t.Fatalf("%d ended jobs are damaged", damaged)
	}
	endJobs(t, j, "later", 2*jobs, 4000, clock.Now()) // merges the damaged table
	must(t, j.Err())
	if !strings.Contains(log.String(), "journal keeps of ended jobs is damaged") {
		t.Error("nothing was logged, or the table was not merged")
	}
	if n := unreadable(); n != damaged {
		t.Errorf("%d ended jobs cannot be looked up after the repair, %d before it", n, damaged)
	}
	if n := j.EndedJobs(); n != 3*jobs {
		t.Errorf("%d ended jobs are kept, want %d", n, 3*jobs)
	}
	if parts, err := j.store.(repairer).Unreadable(store.Span{From: []byte{0}, To: []byte{0xff}}); err != nil || len(parts) > 0 {
		t.Errorf("the store still has damage: %v, %v", parts, err)
	}
	must(t, j.Close())
	j, rep, _ = open(t, dir, o)
	if n := unreadable(); n != damaged || rep.Jobs != 1 {
		t.Errorf("after another opening %d ended jobs cannot be looked up, %d before it; %v", n, damaged, rep)
	}
	forgets(t, j, clock)
	for i := range jobs {
		if known, err := j.Lookup(jobID(fmt.Sprint("ended-", i))); err != nil || known.Ended != nil {
			t.Errorf("after the retention ended-%d is %+v, %v", i, known, err)
		}
	}
	must(t, j.Close())
}

// flipIndex damages the index of ended jobs, and nothing else, in the only table of a closed journal that
// has most of them.
func flipIndex(t *testing.T, dir string, larger int) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	for _, table := range tables {
		whole, err := os.ReadFile(table)
		must(t, err)
		for at := len(whole) - 500; at > 0 && len(whole) > larger; at -= 1000 {
			data := slices.Clone(whole)
			data[at] ^= 1
			must(t, os.WriteFile(table, data, 0o600))
			if onlyIndexDamaged(t, dir) {
				return
			}
			must(t, os.WriteFile(table, whole, 0o600))
		}
	}
	t.Fatal("no table has a block of the index alone")
}

func onlyIndexDamaged(t *testing.T, dir string) bool {
	t.Helper()
	lock, err := store.Lock(store.HostFS(), dir)
	must(t, err)
	defer func() { must(t, lock.Release()) }()
	s, err := store.Open(dir, lock, store.Options{MustExist: true, ReadOnly: true, Logger: slog.New(slog.DiscardHandler), Broken: func(error) {}})
	if err != nil {
		return false
	}
	defer func() { must(t, s.Close()) }()
	parts, err := s.Unreadable(store.Span{From: []byte{0}, To: []byte{0xff}})
	return err == nil && len(parts) == 1 && parts[0].From[0] == prefixExpiry && len(parts[0].From) == expiryKeyLen && parts[0].To[0] == prefixExpiry
}

// TestDamagedIndexIsMadeAgain: where the index of ended jobs is damaged, all of these jobs are forgotten after
// their retention, those of the damaged part as those behind it.
func TestDamagedIndexIsMadeAgain(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	o := Options{Retention: time.Hour, Now: clock.Now, NoSync: true}
	const jobs = 2000
	j, _, _ := open(t, dir, o)
	for i := range 8 {
		endJobs(t, j, fmt.Sprint("ended-", i), jobs/8, 10, clock.Now())
		clock.advance(time.Minute)
	}
	for range 2 { // the second opening writes what is in the log to a table
		must(t, j.Close())
		j, _, _ = open(t, dir, o)
	}
	must(t, j.Close())
	flipIndex(t, dir, 50_000)

	j, _, _ = open(t, dir, o)
	must(t, appendWait(j, accept("unfinished", 100)))
	for i := range 10 {
		clock.advance(2 * sweepEvery)
		must(t, appendWait(j, taskEnd("unfinished", i)))
	}
	clock.advance(54 * time.Minute) // the retention of some of the jobs is over
	for i := range 10 {
		clock.advance(2 * sweepEvery)
		must(t, appendWait(j, taskEnd("unfinished", 10+i)))
	}
	if n := j.EndedJobs(); n == 0 || n >= jobs {
		t.Errorf("%d of %d jobs are kept, and the retention of some is over", n, jobs)
	}
	clock.advance(time.Hour)
	for i := range 10 {
		clock.advance(2 * sweepEvery)
		must(t, appendWait(j, taskEnd("unfinished", 20+i)))
	}
	if n := j.EndedJobs(); n != 0 {
		t.Errorf("%d ended jobs are kept longer than the retention", n)
	}
	left := 0
	must(t, j.store.Scan([]byte{prefixEnded}, []byte{prefixEnded + 1}, func([]byte, []byte) error { left++; return nil }))
	must(t, j.store.Scan([]byte{prefixExpiry}, []byte{prefixExpiry + 1}, func([]byte, []byte) error { left++; return nil }))
	if left > 0 {
		t.Errorf("%d entries of ended jobs are left", left)
	}
	must(t, j.Close())
}
