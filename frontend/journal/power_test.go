package journal

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// acknowledged is what a journal has acknowledged, and so must hold forever.
type acknowledged struct {
	mu    sync.Mutex
	jobs  map[string]bool // accepted
	tasks map[string]int  // ended, by job

	at      int    // reached is called when at more records are acknowledged
	reached func() // by the writer of the last
}

func newAcknowledged() *acknowledged {
	return &acknowledged{jobs: map[string]bool{}, tasks: map[string]int{}}
}

func (a *acknowledged) copy() *acknowledged {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := newAcknowledged()
	maps.Copy(c.jobs, a.jobs)
	maps.Copy(c.tasks, a.tasks)
	return c
}

// note notes an acknowledgement.
func (a *acknowledged) note(what func()) {
	a.mu.Lock()
	what()
	a.at--
	reached := a.at == 0 && a.reached != nil
	a.mu.Unlock()
	if reached {
		a.reached()
	}
}

// missing names what a journal that was read back lacks, "" when it has all.
func (a *acknowledged) missing(k *kept) string {
	have := map[string]bool{}
	for _, s := range k.subs {
		have[s.Request.Key] = true
	}
	for key := range a.jobs {
		if !have[key] {
			return "the job " + key
		}
	}
	for key, n := range a.tasks {
		if len(k.events[key]) < n {
			return fmt.Sprintf("%d of %d ended tasks of %s", n-len(k.events[key]), n, key)
		}
	}
	return ""
}

// use makes writers accept jobs and end their tasks, each for some steps, and notes what
// is acknowledged. It ends early when the journal breaks.
func (a *acknowledged) use(j *Journal, prefix string, writers, steps int) {
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for n := range steps {
				key := fmt.Sprintf("%s.%d.%d", prefix, w, n)
				if appendWait(j, accept(key, 3)) != nil {
					return
				}
				a.note(func() { a.jobs[key] = true })
				for task := range n % 3 {
					if appendWait(j, taskEnd(key, task)) != nil {
						return
					}
					a.note(func() { a.tasks[key]++ })
				}
			}
		})
	}
	work.Wait()
}

// The power fails at any moment, repeatedly, also during the first opening and while
// tables are written, and the disk keeps any part of what was not synced: every opening
// finds all that was acknowledged before, and refuses nothing.
func TestPowerFailureKeepsWhatWasAcknowledged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewCrashableMem()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		kept := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 100))
		a := newAcknowledged()
		for life := range rapid.IntRange(1, 4).Draw(rt, "lives") {
			j, _, k, err := tryOpen("/data/journal", onFS(disk))
			if err != nil {
				rt.Fatalf("life %d: %v", life, err)
			}
			if what := a.missing(k); what != "" {
				rt.Fatalf("life %d lacks %s", life, what)
			}
			after, then := disk, a
			cut := func() { // what is acknowledged during it may be there or not
				then = a.copy()
				after = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept.Draw(rt, "kept"), RNG: rng})
			}
			a.at, a.reached = rapid.IntRange(0, 150).Draw(rt, "acknowledgements"), cut
			if a.at == 0 {
				cut()
			}
			a.use(j, fmt.Sprint(life), 4, 30)
			if err := j.Close(); err != nil {
				rt.Fatal(err)
			}
			disk, a = after, then
		}
		j, _, k, err := tryOpen("/data/journal", onFS(disk))
		if err != nil {
			rt.Fatalf("the last opening: %v", err)
		}
		if what := a.missing(k); what != "" {
			rt.Fatalf("the last opening lacks %s", what)
		}
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// The witness is durable a while after the last acknowledgement, also when nothing else is
// ever acknowledged: a power failure of an idle frontend whose disk loses the end of a log
// is found.
func TestWitnessOfAnIdleJournalIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewCrashableMem()
		j, _, _, err := tryOpen("/data/journal", onFS(disk))
		must(t, err)
		for i := range 3 {
			must(t, appendWait(j, accept(fmt.Sprint(i), 1)))
		}
		durable := func() progress {
			t.Helper()
			synctest.Wait() // the committer has nothing to do
			p, err := readWitness(disk.CrashClone(vfs.CrashCloneCfg{}), "/data/journal")
			must(t, err)
			return p
		}
		if p := durable(); p.acknowledged >= 4 {
			t.Fatalf("it is synced with each acknowledgement: %+v", p)
		}
		time.Sleep(witnessEvery)
		if p := durable(); p.acknowledged < 4 {
			t.Fatalf("a second later, %+v is durable", p)
		}
		must(t, j.Close())
	})
}
