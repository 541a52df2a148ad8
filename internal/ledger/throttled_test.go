package ledger_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// throttled drives a ledger with one job that limits how many of its tasks run at a time, as a
// distributor would.
type throttled struct {
	t       *rapid.T
	led     *ledger.Ledger
	out     sched.Actions
	journal []sched.Message
	sent    map[int32]bool // tasks that were given to a worker and have no result
	now     sched.Time
	life    int32
}

func (s *throttled) job() *ledger.Job { return s.led.Job(one) }

// step checks the ledger and writes its records.
func (s *throttled) step() {
	for _, a := range s.out.List() {
		if a.Kind == sched.Persist {
			s.journal = append(s.journal, a.Msg)
		}
	}
	s.out.Reset()
	if err := s.led.Valid(); err != nil {
		s.t.Fatal(err)
	}
}

// send sends the tasks that are unplaced, and those whose time has come.
func (s *throttled) send() {
	s.now += sched.Second
	s.led.At(s.now)
	j := s.job()
	if j == nil {
		return
	}
	for due, _ := s.led.Due(s.now, &s.out); due != nil; due, _ = s.led.Due(s.now, &s.out) {
		s.step()
	}
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.Outcome == sched.Unfinished && t.Place == ledger.Nowhere && !t.Waits {
			j.Place(int32(i), 0)
			s.sent[int32(i)] = true
			s.journal = append(s.journal, sched.Message{Kind: sched.Placed, Job: one, First: int32(i), Count: 1})
		}
	}
	s.step()
}

// end reports the end of an attempt.
func (s *throttled) end(task int32, o sched.Outcome) {
	t := &s.job().Tasks[task]
	m := &sched.Message{Kind: sched.Report, Job: one, First: task, Attempt: t.Attempt, Outcome: o, Node: "n"}
	s.led.At(s.now)
	if _, v := s.led.Report(s.now, m, &s.out); v == ledger.Accepted {
		delete(s.sent, task)
	}
	s.step()
}

// restart replays the journal into the ledger of another life. Some tasks are reported by workers,
// the others get new numbers.
func (s *throttled) restart() {
	s.life += sched.AttemptsPerLife
	s.led = ledger.NewLife(s.life, 0)
	for i := range s.journal {
		if m := s.journal[i]; m.Kind == sched.Submit {
			m.Resent = true
			s.led.Submit(s.now, &m).Unconfirm()
		} else {
			s.led.Restore(s.now, &m)
		}
	}
	s.led.CloseRestored(&s.out)
	s.step()
	j := s.job()
	if j == nil {
		return
	}
	for i := range int32(len(j.Tasks)) {
		t := &j.Tasks[i]
		switch {
		case t.Outcome != sched.Unfinished:
		case s.sent[i] && rapid.Bool().Draw(s.t, "reported"):
			s.led.Confirm(j, i, t.Attempt)
			j.Place(i, 0)
		default:
			delete(s.sent, i)
			if v := s.led.Renumber(j, i, 1, "nobody held it", &s.out); v != ledger.Later {
				s.t.Fatalf("verdict %d of a task of a job with a limit", v)
			}
		}
	}
	s.step()
}

// Whatever the order of results, failures, losses and restarts: a job never has more tasks with
// workers than it allows, it has as many as it may, and all of them end.
func TestMaxRunning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		submit := sched.Message{Kind: sched.Submit, Job: one, Count: rapid.Int32Range(1, 20).Draw(t, "tasks"), MaxRunning: rapid.Int32Range(0, 6).Draw(t, "limit"), Retries: 2}
		s := &throttled{t: t, led: ledger.NewLife(1, 0), journal: []sched.Message{submit}, sent: map[int32]bool{}, life: 1}
		s.led.Submit(0, &submit)
		restarts := 0
		for s.job() != nil {
			s.send()
			limit := int(submit.MaxRunning)
			if limit == 0 {
				limit = int(submit.Count)
			}
			waits, _, _ := s.led.NextAttempt(s.job())
			if held, want := len(s.sent), min(limit, s.job().Unfinished()); held > want || held < want-waits {
				t.Fatalf("%d tasks are with workers, %d wait for their next attempt and %d for others; want %d of %d", held, waits, s.job().Throttled(), want, s.job().Unfinished())
			}
			for i := range submit.Count {
				if s.job() == nil {
					break
				}
				if !s.sent[i] || s.job().Tasks[i].Waits {
					continue
				}
				switch rapid.SampledFrom([]string{"done", "done", "failed", "lost", "runs", "unwanted"}).Draw(t, "what happens") {
				case "done":
					s.end(i, sched.Done)
				case "failed":
					s.end(i, sched.Failed)
				case "lost":
					s.end(i, sched.Lost)
				case "unwanted":
					last := submit.Count - 1 - i
					if s.job().Tasks[last].Outcome == sched.Unfinished {
						s.led.CancelTask(s.job(), last, "not wanted", &s.out)
						delete(s.sent, last)
						s.step()
					}
				}
			}
			if restarts < 3 && submit.MaxRunning > 0 && s.job() != nil && rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				restarts++
				s.restart()
			}
		}
	})
}
