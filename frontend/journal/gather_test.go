package journal

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Ends of tasks are gathered for a while after a batch, unless the end of a job or another record
// comes. The first one after a rest is written at once.
func TestEndsOfTasksAreGathered(t *testing.T) {
	disk, clock := vfs.NewMem(), newClock()
	timers := make(chan chan time.Time, 10)
	o := onFS(disk)
	o.Now, o.after = clock.Now, func(d time.Duration) <-chan time.Time {
		c := make(chan time.Time)
		if d <= gatherFor {
			timers <- c
		}
		return c
	}
	j, _, _, err := tryOpen("/data/journal", o)
	must(t, err)
	batches := func() uint64 {
		t.Helper()
		p, err := readWitness(disk, "/data/journal")
		must(t, err)
		return p.acknowledged
	}
	must(t, appendWait(j, accept("a", 10)))
	before := batches()

	clock.advance(gatherFor)
	must(t, appendWait(j, taskEnd("a", 0))) // the first after a rest
	if got := batches() - before; got != 1 {
		t.Errorf("%d batches for the first end", got)
	}

	answers := make(chan error, 10)
	later := func(task int) { must(t, j.Append([]Record{taskEnd("a", task)}, func(err error) { answers <- err })) }
	later(1)
	due := <-timers
	later(2)
	if got := batches() - before; got != 1 || len(answers) > 0 {
		t.Errorf("%d batches and %d answers while ends are gathered", got, len(answers))
	}
	due <- clock.Now()
	must(t, <-answers)
	must(t, <-answers)
	if got := batches() - before; got != 2 {
		t.Errorf("%d batches when the gathered ends were due", got)
	}

	clock.advance(-time.Hour) // set back
	later(3)
	<-timers
	later(4)
	must(t, appendWait(j, jobEnd("a", clock.Now())))
	must(t, <-answers)
	must(t, <-answers)
	if got := batches() - before; got != 3 {
		t.Errorf("%d batches after the end of the job", got)
	}
	must(t, appendWait(j, accept("b", 10)))
	must(t, j.Append([]Record{taskEnd("b", 0)}, func(err error) { answers <- err }))
	<-timers
	must(t, j.Close()) // writes what is gathered
	must(t, <-answers)
}
