package recovery_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func job(n uint64) sched.JobID { return sched.JobID{Lo: n} }

// One timer, requested once, and only where a recovery is wanted.
func TestTimer(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		r, out := recovery.New(wanted), sched.Actions{}
		r.Begin(5, &out)
		r.Begin(6, &out)
		list := out.List()
		if wanted != (len(list) == 1) || r.Over() == wanted || (wanted && list[0].At != 5+sched.Second) {
			t.Errorf("wanted %v: %v, over %v", wanted, list, r.Over())
		}
		r.End()
		r.Begin(9, &out)
		if !r.Over() || len(out.List()) != len(list) {
			t.Errorf("wanted %v: it begins again", wanted)
		}
	}
}

// Whatever is added and taken out, the remaining tasks are those that a set of
// tasks would have left, in their order of arrival.
func TestAgainstASet(t *testing.T) {
	type task struct {
		job           uint64
		task, attempt int32
	}
	rapid.Check(t, func(t *rapid.T) {
		r := recovery.New(true)
		var want []task
		keep := func(f func(task) bool) {
			var left []task
			for _, x := range want {
				if f(x) {
					left = append(left, x)
				}
			}
			want = left
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				m := sched.Message{
					Kind: sched.Tasks, Job: job(rapid.Uint64Range(1, 3).Draw(t, "job")), First: rapid.Int32Range(0, 5).Draw(t, "first"),
					Count: rapid.Int32Range(1, 5).Draw(t, "count"), Attempt: rapid.Int32Range(1, 3).Draw(t, "attempt"),
				}
				r.Add(&m)
				for i := range m.Count {
					want = append(want, task{m.Job.Lo, m.First + i, m.Attempt})
				}
			},
			"cut": func(t *rapid.T) {
				id, first, count := rapid.Uint64Range(1, 3).Draw(t, "job"), rapid.Int32Range(0, 9).Draw(t, "first"), rapid.Int32Range(1, 5).Draw(t, "count")
				r.Cut(job(id), first, count)
				keep(func(x task) bool { return x.job != id || x.task < first || x.task >= first+count })
			},
			"": func(t *rapid.T) {
				if r.Tasks() != len(want) {
					t.Fatalf("%d tasks wait, want %d", r.Tasks(), len(want))
				}
				for id := uint64(1); id <= 3; id++ {
					n := 0
					for _, x := range want {
						if x.job == id {
							n++
						}
					}
					if r.Of(job(id)) != n || r.Has(job(id)) != (n > 0) {
						t.Fatalf("%d tasks of job %d, want %d", r.Of(job(id)), id, n)
					}
				}
			},
		})
		var got []task
		for _, m := range r.End() {
			for i := range m.Count {
				got = append(got, task{m.Job.Lo, m.First + i, m.Attempt})
			}
		}
		if len(got) != len(want) {
			t.Fatalf("at the end %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("at the end %v, want %v", got, want)
			}
		}
		if r.Tasks() != 0 || len(r.End()) != 0 {
			t.Fatal("something still waits")
		}
	})
}
