package eagle

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// whole is the order as it is defined: it looks at every entry.
func whole(o order, list []probing.Entry) int {
	if list[0].Class == sched.Long {
		return 0
	}
	best, slack := 0, o.left(&list[0])
	for i := 1; i < len(list) && slack > 0; i++ {
		e := &list[i]
		if e.Estimate <= slack && remaining(e) < remaining(&list[best]) {
			if best = i; e.Class == sched.Long {
				break
			}
		}
		if e.Class == sched.Short {
			slack = min(slack, o.left(e))
		}
	}
	return best
}

// The order serves the same entry as one that looks at all of them, and charges the same,
// however the queue came about.
func TestOrderAgainstWholeScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q probing.Queue
		var list []probing.Entry
		o := order{slack: rapid.SampledFrom([]float64{0, 5, 100, 1e30}).Draw(t, "slack")}
		push := func() {
			e := short(sched.Time(rapid.IntRange(1, 9).Draw(t, "estimate")), rapid.Int32Range(0, 9).Draw(t, "count"))
			if rapid.IntRange(0, 20).Draw(t, "class") == 0 {
				e.Class = sched.Long
			}
			q.Push(e)
			list = append(list, e)
		}
		for range rapid.IntRange(1, 300).Draw(t, "at first") {
			push()
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(list) == 0 {
				push()
			}
			i := o.next(&q)
			if want := whole(o, list); i != want {
				t.Fatalf("entry %d of %d is served, want %d", i, len(list), want)
			}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // no task was left
				q.Remove(i, i+1)
				list = append(list[:i:i], list[i+1:]...)
			case 1: // it started, and stays
				o.took(&q, i)
				for k := range i {
					list[k].Delay += list[i].Estimate
				}
				q.At(i).Count++
				q.Changed(i)
				list[i].Count++
			case 2:
				push()
			case 3: // as hawk's thief takes some
				end := min(len(list), i+rapid.IntRange(0, 150).Draw(t, "taken"))
				q.Remove(i, end)
				list = append(list[:i:i], list[end:]...)
			}
			for k := range list {
				if q.Len() != len(list) || *q.At(k) != list[k] {
					t.Fatalf("entry %d of %d is %+v, want %+v", k, q.Len(), *q.At(k), list[k])
				}
			}
		}
	})
}
