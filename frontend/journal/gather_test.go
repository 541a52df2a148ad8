package journal

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Ends of tasks are gathered for a while after a batch, unless the end of a job or another record
// comes. The first one after a rest is written at once.
func TestEndsOfTasksAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		var setBack, answered atomic.Int64
		o := onFS(disk)
		o.Now = func() time.Time { return time.Now().Add(-time.Duration(setBack.Load())) }
		j, _, _, err := tryOpen("/data/journal", o)
		must(t, err)
		appendThen := func(record Record, then func()) {
			must(t, j.Append([]Record{record}, func(err error) {
				must(t, err)
				answered.Add(1)
				then()
			}))
		}
		later := func(record Record) { appendThen(record, func() {}) }
		first, err := readWitness(disk, "/data/journal")
		must(t, err)
		written := func(batches, answers int, when string) {
			t.Helper()
			synctest.Wait() // the committer has nothing to do
			p, err := readWitness(disk, "/data/journal")
			must(t, err)
			got, replies := int(p.acknowledged-first.acknowledged), int(answered.Load())
			if got != batches || replies != answers {
				t.Errorf("%d batches and %d answers %s, want %d and %d", got, replies, when, batches, answers)
			}
		}

		later(accept("a", 10))
		written(1, 1, "for a job")
		time.Sleep(gatherFor)
		later(taskEnd("a", 0))
		written(2, 2, "for the first end after a rest")

		later(taskEnd("a", 1))
		time.Sleep(gatherFor - 1)
		later(taskEnd("a", 2))
		written(2, 2, "while ends are gathered")
		time.Sleep(time.Nanosecond)
		written(3, 4, "when the gathered ends were due")

		setBack.Store(int64(time.Hour))
		later(taskEnd("a", 3))
		written(3, 4, "on a clock that was set back")
		time.Sleep(gatherFor)
		written(4, 5, "on a clock that was set back, when the gathered end was due")

		// The end of a job writes what is gathered. The next job and the end of its first task follow
		// so closely that the committer does not rest. That end is gathered for its own time.
		later(taskEnd("a", 4))
		time.Sleep(gatherFor - 1)
		appendThen(jobEnd("a", o.Now()), func() {
			appendThen(accept("b", 10), func() { later(taskEnd("b", 0)) })
		})
		written(6, 8, "for the end of a job and the next job")
		time.Sleep(gatherFor - 1)
		written(6, 8, "while the end of its task is gathered")
		time.Sleep(time.Nanosecond)
		written(7, 9, "when the end of its task was due")

		later(taskEnd("b", 1))
		written(7, 9, "before the journal is closed")
		must(t, j.Close())
		written(8, 10, "when the journal was closed")
	})
}
