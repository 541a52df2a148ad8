package ledger_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// However many tasks wait for their next attempts, each is due at its time, the earliest first, and
// a timer is set for the first of them. Nodes without names, whose losses fail no task, make waits
// of 1 to 30 s.
func TestManyWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tasks = 30
		led, now, timer := ledger.NewLife(1, 0), sched.Time(0), sched.Time(0)
		j, out := submitted(led, tasks, 0), sched.Actions{}
		due := map[int32]sched.Time{}
		for range 150 {
			task := rapid.Int32Range(0, tasks-1).Draw(t, "task")
			_, v := led.Lost(now, &sched.Message{Kind: sched.AttemptLost, Job: one, First: task, Attempt: j.Tasks[task].Attempt}, &out)
			if v == ledger.Later {
				due[task] = now + min(sched.Second<<(j.Tasks[task].Losses-2), 30*sched.Second)
			}
			now += sched.Time(rapid.Int64Range(0, 4).Draw(t, "later")) * sched.Second / 2
			last := sched.Time(0)
			for k, task := led.Due(now, &out); k != nil; k, task = led.Due(now, &out) {
				at, waits := due[task]
				if !waits || at > now || at < last {
					t.Fatalf("at %v task %d is due, which waits: %v, until %v; the one before waited until %v", now, task, waits, at, last)
				}
				last = at
				delete(due, task)
			}
			first := sched.Time(math.MaxInt64)
			for task, at := range due {
				if first = min(first, at); at <= now {
					t.Fatalf("at %v task %d, which waited until %v, is not due", now, task, at)
				}
			}
			for _, a := range out.List() {
				if a.Kind == sched.Timer && (timer <= now || a.At < timer) {
					timer = a.At
				}
			}
			out.Reset()
			if n, at, _ := led.NextAttempt(j); n != len(due) || n > 0 && (at != first || timer <= now || timer > first) {
				t.Fatalf("at %v %d tasks wait, the first until %v, with a timer for %v; want %d until %v", now, n, at, timer, len(due), first)
			}
		}
	})
}
