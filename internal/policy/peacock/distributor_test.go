package peacock

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// book is a distributor, number 4, with five workers.
type book struct {
	t *testing.T
	d *Distributor
}

func newBook(t *testing.T) *book {
	b := &book{t, NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 1, Params: sched.Params{Cutoff: 7 * second}})}
	b.step(sched.Addr{}, ring(0, 1, 2, 3, 4))
	return b
}

// step returns what was sent, by kind.
func (b *book) step(from sched.Addr, m *sched.Message) map[sched.Kind][]sched.Action {
	b.t.Helper()
	var out sched.Actions
	b.d.Step(0, from, m, &out)
	if err := b.d.Valid(); err != nil {
		b.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	sent := map[sched.Kind][]sched.Action{}
	for _, a := range out.List() {
		if a.Kind == sched.Send {
			sent[a.Msg.Kind] = append(sent[a.Msg.Kind], a)
		}
	}
	return sent
}

func submit(job uint64, tasks int32, estimate sched.Time) *sched.Message {
	return &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: job}, Key: job, Count: tasks, Estimate: estimate}
}

// "A job sends one probe per task to random workers, each carrying arrival time,
// estimate, and a threshold = average load of the shared state at arrival." The state
// that is sent counts the job itself, its threshold does not.
func TestOneProbePerTask(t *testing.T) {
	b := newBook(t)
	if m := b.step(sched.Addr{}, submit(2, 5, 3*second))[sched.Probe][0].Msg; m.More.Threshold != 0 {
		t.Errorf("the first job has threshold %d", m.More.Threshold)
	}
	sent := b.step(sched.Addr{}, submit(1, 100, 2*second))
	drawn := map[sched.Addr]int{}
	for _, a := range sent[sched.Probe] {
		drawn[a.To]++
		if m := a.Msg; m.Estimate != 2*second || m.More.Threshold != 3*second || m.More.Load != (sched.Load{Queued: 105, Work: 215 * second}) {
			t.Fatalf("sends %s", sched.Describe(&m))
		}
	}
	if len(sent[sched.Probe]) != 100 || len(drawn) != 5 || drawn[worker(0)] == 20 && drawn[worker(1)] == 20 {
		t.Errorf("100 tasks: probes per worker %v", drawn)
	}
}

// The cutoff replaces a missing estimate.
func TestNoEstimate(t *testing.T) {
	sent := newBook(t).step(sched.Addr{}, submit(1, 5, 0))
	if m := sent[sched.Probe][0].Msg; m.Estimate != 7*second || m.More.Load.Work != 35*second {
		t.Errorf("sends %s", sched.Describe(&m))
	}
}

// "Shared state is kept by the schedulers from job arrivals, task ends and each
// other's updates, and rides on probe, task and rotation messages."
func TestSharedState(t *testing.T) {
	b := newBook(t)
	expect := func(what string, sent map[sched.Kind][]sched.Action, own sched.Load, all sched.Load) {
		t.Helper()
		if l := sent[sched.LoadShare]; len(l) != 1 || l[0].To.ID != sched.Everyone || l[0].Msg.More.Load != own {
			t.Errorf("%s: sends %v, want %+v", what, l, own)
		}
		if got := b.d.share.all; got != all {
			t.Errorf("%s: the state is %+v, want %+v", what, got, all)
		}
	}
	load := func(queued, work int64) sched.Load {
		return sched.Load{Queued: queued, Work: sched.Time(work) * second}
	}
	expect("arrival", b.step(sched.Addr{}, submit(1, 3, 2*second)), load(3, 6), load(3, 6))

	other := sched.Addr{Role: sched.Distributor, ID: 2}
	for range 2 { // the second time nothing is new
		update := &sched.Message{Kind: sched.LoadShare, More: &sched.More{Load: load(10, 100)}}
		if sent := b.step(other, update); len(sent) != 0 || b.d.share.all != load(13, 106) {
			t.Errorf("an update returns %+v and sends %v", b.d.share.all, sent)
		}
	}

	got := b.step(worker(2), &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}, Seq: 5})[sched.Launch]
	if len(got) != 1 || got[0].Msg.Seq != 5 || got[0].Msg.First != 0 || got[0].Msg.More.Load != load(13, 106) {
		t.Fatalf("answers %v", got)
	}
	done := &sched.Message{Kind: sched.Report, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done}
	expect("task end", b.step(worker(2), done), load(2, 4), load(12, 104))
	if sent := b.step(worker(2), done); len(sent) != 0 {
		t.Errorf("the same end again sends %v", sent)
	}
	cancel := &sched.Message{Kind: sched.Cancel, Job: sched.JobID{Lo: 1}}
	expect("cancel", b.step(sched.Addr{}, cancel), load(0, 0), load(10, 100))
	none := b.step(worker(3), &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}, Seq: 1})[sched.NoTask]
	if len(none) != 1 || none[0].Msg.More.Load != load(10, 100) {
		t.Errorf("a probe of a job that ended gets %v", none)
	}
}

// Workers lost = attempts lost, and the policy applied again: every task that is
// not launched is probed for, as it is not known whose probes were lost with the worker.
func TestWorkerLost(t *testing.T) {
	b := newBook(t)
	b.step(sched.Addr{}, submit(1, 4, second))
	b.step(worker(2), &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}, Seq: 1})
	b.step(worker(3), &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}, Seq: 1})
	sent := b.step(sched.Addr{}, ring(0, 1, 3, 4))
	if n := len(sent[sched.Probe]); n != 3 { // one was lost, two wait
		t.Errorf("%d probes are sent, want 3", n)
	}
	again := b.step(worker(0), &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}, Seq: 1})[sched.Launch]
	if m := again[0].Msg; m.First != 0 || m.Attempt != 2 {
		t.Errorf("launches %s, want the second attempt of task 0", sched.Describe(&m))
	}
}

// "The threshold is fixed at arrival", also for probes that replace lost ones.
func TestThresholdStays(t *testing.T) {
	b := newBook(t)
	b.step(sched.Addr{}, submit(1, 10, second))
	b.step(sched.Addr{}, submit(2, 90, second))
	sent := b.step(sched.Addr{}, ring(0, 1, 3, 4))
	for _, a := range sent[sched.Probe] {
		if want := map[uint64]sched.Time{1: 0, 2: 2 * second}[a.Msg.Job.Lo]; a.Msg.More.Threshold != want {
			t.Fatalf("sends %s, want threshold %d", sched.Describe(&a.Msg), want)
		}
	}
	if n := len(sent[sched.Probe]); n != 100 {
		t.Errorf("%d probes are sent, want 100", n)
	}
}

// Jobs that the journal owes count from the moment it has been read.
func TestRestart(t *testing.T) {
	b := newBook(t)
	old := submit(1, 4, second)
	old.Resent = true
	b.step(sched.Addr{}, old)
	b.step(sched.Addr{}, &sched.Message{Kind: sched.TaskEnded, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done})
	if b.d.share.all != (sched.Load{}) {
		t.Errorf("the state is %+v before the journal is read", b.d.share.all)
	}
	sent := b.step(sched.Addr{}, &sched.Message{Kind: sched.Restored})
	if want := (sched.Load{Queued: 3, Work: 3 * second}); len(sent[sched.Probe]) != 0 || len(sent[sched.LoadShare]) != 1 || b.d.share.all != want {
		t.Errorf("%d probes, %d updates, state %+v", len(sent[sched.Probe]), len(sent[sched.LoadShare]), b.d.share.all)
	}
}

// A record that ends a task of a job that is counted already takes it off: jobs
// may come while the journal is read.
func TestRecordOfACountedJob(t *testing.T) {
	b := newBook(t)
	b.step(sched.Addr{}, submit(1, 4, second))
	old := submit(2, 4, second)
	old.Resent = true
	b.step(sched.Addr{}, old)
	sent := b.step(sched.Addr{}, &sched.Message{Kind: sched.TaskEnded, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done})
	if want := (sched.Load{Queued: 3, Work: 3 * second}); b.d.share.all != want || len(sent[sched.LoadShare]) != 1 {
		t.Errorf("the state is %+v, want %+v, and it is sent %d times", b.d.share.all, want, len(sent[sched.LoadShare]))
	}
}
