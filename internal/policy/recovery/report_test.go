package recovery_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Whatever is collected, exactly these attempts are sent, in as few ranges as there can be, each of one
// attempt number; and the collection is empty then.
func TestHoldingsAgainstASet(t *testing.T) {
	type held struct{ task, attempt int32 }
	rapid.Check(t, func(t *rapid.T) {
		var h recovery.Holdings
		for range 2 {
			want, least := map[held]bool{}, 0
			for range rapid.IntRange(0, 8).Draw(t, "added") {
				first, count, attempt := rapid.Int32Range(0, 20).Draw(t, "first"), rapid.Int32Range(1, 6).Draw(t, "count"), rapid.Int32Range(1, 3).Draw(t, "attempt")
				h.Add(first, count, attempt)
				for i := range count {
					want[held{first + i, attempt}] = true
				}
			}
			for x := range want {
				if !want[held{x.task - 1, x.attempt}] {
					least++
				}
			}
			var out sched.Actions
			h.Send(sched.Addr{Role: sched.Distributor, ID: 3}, job(1), &out)
			for _, a := range out.List() {
				if a.Msg.Kind != sched.Holding || a.Msg.Job != job(1) || a.To.ID != 3 {
					t.Fatalf("sent %s", sched.DescribeAction(&a))
				}
				for i := range a.Msg.Count {
					if x := (held{a.Msg.First + i, a.Msg.Attempt}); !want[x] {
						t.Fatalf("%+v is sent, and was not added or is sent twice", x)
					} else {
						delete(want, x)
					}
				}
			}
			if len(want) > 0 || len(out.List()) != least {
				t.Fatalf("%v are not sent; %d messages, want %d", want, len(out.List()), least)
			}
		}
	})
}

// Of tasks that were sent again, exactly those are returned of which no attempt as late is known.
func TestReturnAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &sched.Message{Kind: sched.Tasks, Job: job(2), First: rapid.Int32Range(0, 5).Draw(t, "first of the message"), Count: rapid.Int32Range(1, 12).Draw(t, "count of it"), Attempt: rapid.Int32Range(1, 3).Draw(t, "attempt of it")}
		known, latest := recovery.NewKnown(m), map[int32]int32{}
		for range rapid.IntRange(0, 8).Draw(t, "known") {
			first, count, attempt := rapid.Int32Range(0, 20).Draw(t, "first"), rapid.Int32Range(0, 6).Draw(t, "count"), rapid.Int32Range(1, 4).Draw(t, "attempt")
			known.KnowAll(first, count, attempt)
			for i := range count {
				latest[first+i] = max(latest[first+i], attempt)
			}
		}
		var out sched.Actions
		recovery.Return(m, &known, &out)
		returned := map[int32]bool{}
		for _, a := range out.List() {
			if a.Msg.Kind != sched.Returned || !a.Msg.Resent || a.Msg.Full || a.Msg.Attempt != m.Attempt || a.Msg.Job != m.Job {
				t.Fatalf("sent %s", sched.DescribeAction(&a))
			}
			for i := range a.Msg.Count {
				returned[a.Msg.First+i] = true
			}
		}
		for task := range int32(40) {
			want := task >= m.First && task < m.First+m.Count && latest[task] < m.Attempt
			if returned[task] != want {
				t.Fatalf("task %d, known with attempt %d, is returned: %v, want %v; sent again were %s", task, latest[task], returned[task], want, sched.Describe(m))
			}
		}
	})
}
