package kairos

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const second = sched.Second

var (
	theMaster   = sched.Addr{Role: sched.Master}
	distributor = sched.Addr{Role: sched.Distributor, ID: 4}
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// bench is a node with a backend that obeys and a clock that
// delivers its timers.
type bench struct {
	t      tester
	n      *Node
	now    sched.Time
	timers []sched.Action
	runs   map[uint64]bool // by job: a task runs (true) or is suspended
	ended  map[uint64]int
	number uint64
	log    []string // orders to the backend, by job
	beats  []sched.Message
}

func newBench(t tester, o Options) *bench {
	o.Quantum = second
	return &bench{
		t: t, n: NewNode(sched.WorkerConfig{Self: sched.Addr{Role: sched.Worker}, Master: theMaster}, o),
		runs: map[uint64]bool{}, ended: map[uint64]int{},
	}
}

func (b *bench) step(from sched.Addr, m *sched.Message) []sched.Action {
	b.t.Helper()
	var out sched.Actions
	b.n.Step(b.now, from, m, &out)
	if err := b.n.Valid(); err != nil {
		b.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	for _, a := range out.List() {
		b.act(&a)
	}
	return out.List()
}

func (b *bench) act(a *sched.Action) {
	job := a.Msg.Job.Lo
	runs, known := b.runs[job]
	fits := true
	switch a.Kind {
	case sched.Start:
		fits = !known
		b.runs[job] = true
	case sched.Suspend:
		fits = known && runs
		b.runs[job] = false
	case sched.Resume:
		fits = known && !runs
		b.runs[job] = true
	case sched.Stop:
		fits = known
	case sched.Timer:
		b.timers = append(b.timers, *a)
		return
	case sched.Send:
		if a.Msg.Kind == sched.Report {
			b.ended[job]++
			delete(b.runs, job)
		}
		if a.Msg.Kind == sched.Beat {
			b.beats = append(b.beats, a.Msg)
		}
		return
	}
	if !fits {
		b.t.Fatalf("at %d: %s, and that task is known: %v, runs: %v", b.now, sched.DescribeAction(a), known, runs)
	}
	b.log = append(b.log, fmt.Sprintf("%.1f %s %d", b.now.Seconds(), a.Kind, job))
}

// until delivers the timers that are due up to the instant, and stops there.
func (b *bench) until(at sched.Time) {
	for {
		first := -1
		for i := range b.timers {
			if b.timers[i].At <= at && (first < 0 || b.timers[i].At < b.timers[first].At) {
				first = i
			}
		}
		if first < 0 {
			b.now = at
			return
		}
		due := b.timers[first]
		b.timers = append(b.timers[:first], b.timers[first+1:]...)
		b.now = due.At
		b.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: due.Token})
	}
}

func (b *bench) launch(job uint64) []sched.Action {
	b.number++
	return b.step(theMaster, &sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: job}, Attempt: 1, Distributor: distributor, Seq: b.number})
}

func (b *bench) end(job uint64) []sched.Action {
	return b.step(sched.Addr{}, &sched.Message{Kind: sched.Ended, Job: sched.JobID{Lo: job}, Attempt: 1, Outcome: sched.Done})
}

func (b *bench) did(want ...string) {
	b.t.Helper()
	if got := strings.Join(b.log, ", "); got != strings.Join(want, ", ") {
		b.t.Fatalf("the node did %s; want %s", got, strings.Join(want, ", "))
	}
}

// tenth is the clock of the timelines.
const tenth = second / 10

// The worked example of the package's doc comment.
func TestWorkedExample(t *testing.T) {
	b := newBench(t, Defaults())
	b.launch(1)
	b.until(4 * tenth)
	b.launch(2)
	b.until(9 * tenth)
	b.end(2)
	b.until(20 * tenth)
	b.launch(3)
	b.until(55 * tenth)
	b.did("0.0 Start 1", "0.4 Suspend 1", "0.4 Start 2", "0.9 Resume 1", "2.0 Suspend 1", "2.0 Start 3",
		"4.0 Suspend 3", "4.0 Resume 1", "5.0 Suspend 1", "5.0 Resume 3")
}

// "Node with N cores: a new task runs at once, suspending the running task with the
// most attained service if no core is free." "The new task joins the running set
// after the victim is chosen, the victim leaves it."
func TestNewTaskRunsAtOnce(t *testing.T) {
	b := newBench(t, Options{Cores: 2, Extra: 4, Passes: 3})
	b.launch(1)
	b.until(2 * tenth)
	b.launch(2)
	b.until(5 * tenth)
	b.launch(3) // 1 has 0.5 s, 2 has 0.3 s
	b.until(7 * tenth)
	b.launch(4) // 2 has 0.5 s, 3 has 0.2 s
	b.did("0.0 Start 1", "0.2 Start 2", "0.5 Suspend 1", "0.5 Start 3", "0.7 Suspend 2", "0.7 Start 4")
}

// "A task ends: the suspended task with the least attained service resumes."
func TestLeastAttainedResumes(t *testing.T) {
	b := newBench(t, Defaults())
	b.launch(1)
	b.until(3 * tenth)
	b.launch(2)
	b.until(5 * tenth)
	b.launch(3)
	b.until(6 * tenth)
	b.end(3) // 1 has 0.3 s, 2 has 0.2 s
	b.did("0.0 Start 1", "0.3 Suspend 1", "0.3 Start 2", "0.5 Suspend 2", "0.5 Start 3", "0.6 Resume 2")
	b.end(3) // came twice
	if b.ended[3] != 1 {
		t.Errorf("the task was reported %d times", b.ended[3])
	}
}

// "At the end of a quantum W_q: if a suspended task has attained no more than the
// running one, they swap; else the quantum renews." "A task that was passed over
// for more than s quanta gets one uninterrupted run of 2 quanta." With s = 1: task
// 1 has 10 s when 2 comes, and is passed over at 11 s and 12 s.
func TestStarving(t *testing.T) {
	b := newBench(t, Options{Cores: 1, Extra: 4, Passes: 1})
	b.launch(1)
	b.until(10 * second)
	b.launch(2)
	b.until(13*second + second/2)
	b.launch(3) // no task is suspended for it
	b.until(15 * second)
	b.did("0.0 Start 1", "10.0 Suspend 1", "10.0 Start 2", "13.0 Suspend 2", "13.0 Resume 1", "15.0 Suspend 1", "15.0 Start 3")
}

// "No more than the running one": equals take turns.
func TestEqualsSwap(t *testing.T) {
	b := newBench(t, Defaults())
	b.launch(1)
	b.until(second)
	b.launch(2)
	b.until(2 * second) // both have 1 s
	b.did("0.0 Start 1", "1.0 Suspend 1", "1.0 Start 2", "2.0 Suspend 2", "2.0 Resume 1")
}

// A task that is killed is stopped, whether it runs or is suspended, and keeps its place until its end
// is known.
func TestKill(t *testing.T) {
	b := newBench(t, Defaults())
	b.launch(1)
	b.until(4 * tenth)
	b.launch(2)
	for _, job := range []uint64{1, 2, 3} { // 3 is not here
		b.step(theMaster, &sched.Message{Kind: sched.Kill, Job: sched.JobID{Lo: job}, Attempt: 1})
	}
	b.did("0.0 Start 1", "0.4 Suspend 1", "0.4 Start 2", "0.4 Stop 1", "0.4 Stop 2")
	if running, waiting := b.n.Tasks(); running != 1 || waiting != 1 {
		t.Errorf("%d tasks run and %d wait before they have ended", running, waiting)
	}
	b.end(1)
	b.end(2)
	if len(b.runs) > 0 || b.ended[1] != 1 || b.ended[2] != 1 {
		t.Errorf("%v are left, reported %v", b.runs, b.ended)
	}
}

// With two cores s = 1 is two renewals: tasks 3 and 4 renew their quanta at 11.0,
// 11.1 and 12.0 s, and at 12.1 s the tasks that wait starve.
func TestStarvingWithTwoCores(t *testing.T) {
	b := newBench(t, Options{Cores: 2, Extra: 4, Passes: 1})
	b.launch(1)
	b.launch(2)
	b.until(10 * second)
	b.launch(3) // 1 and 2 have 10 s; 1 came first
	b.until(10*second + tenth)
	b.launch(4)
	b.until(12*second + 5*tenth)
	b.did("0.0 Start 1", "0.0 Start 2", "10.0 Suspend 1", "10.0 Start 3", "10.1 Suspend 2", "10.1 Start 4", "12.1 Suspend 4", "12.1 Resume 1")
}

// A task that starves goes first at the end of a task, too, before one that has
// attained less.
func TestStarvingAtTheEndOfATask(t *testing.T) {
	b := newBench(t, Options{Cores: 1, Extra: 4, Passes: 1})
	b.launch(1)
	b.until(10 * second)
	b.launch(2)
	b.until(12*second + tenth)
	b.launch(3)
	b.until(12*second + 2*tenth)
	b.end(3) // 1 was passed over twice; 2 has 2.1 s
	b.did("0.0 Start 1", "10.0 Suspend 1", "10.0 Start 2", "12.1 Suspend 2", "12.1 Start 3", "12.2 Resume 1")
}

// A message about an unknown task, a late one, and one task too many do no harm.
func TestRefusals(t *testing.T) {
	b := newBench(t, Options{Cores: 1, Extra: 1, Passes: 3})
	b.launch(1)
	b.number = 0
	if got := b.launch(1); len(got) != 0 {
		t.Fatalf("a launch that comes twice does %v", got)
	}
	b.launch(2)
	kinds := func(list []sched.Action) (names string) {
		for _, a := range list {
			if a.Kind == sched.Send {
				names += a.Msg.Kind.String() + " "
			}
		}
		return names
	}
	if got := kinds(b.launch(3)); got != "Refused Beat " {
		t.Errorf("a full node sends %s", got)
	}
	b.end(2)
	again := &sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: 2}, Attempt: 1, Distributor: distributor, Seq: 2}
	if got := b.step(theMaster, again); len(got) != 0 {
		t.Errorf("the launch of a task that ended, again, does %v", got)
	}
	again.Epoch = 3
	if got := kinds(b.step(theMaster, again)); got != "Refused Beat " {
		t.Errorf("a new master with an old number gets %s", got)
	}
	if again.Epoch, again.Seq = 2, 99; kinds(b.step(theMaster, again)) != "Refused Beat " {
		t.Error("a master whose epoch is over is obeyed")
	}
}

// A node with less than two tasks has nothing to report after it reported its last
// change; with two it beats at the multiples of the interval.
func TestHeartbeat(t *testing.T) {
	b := newBench(t, Options{Cores: 1, Extra: 3, Passes: 3, Heartbeat: second / 4})
	b.until(tenth)
	b.launch(1)
	b.until(2 * second)
	if len(b.beats) != 1 || b.beats[0].Seq != 1 {
		t.Fatalf("one task: %d beats", len(b.beats))
	}
	b.launch(2)
	b.until(3 * second)
	if len(b.beats) != 5 {
		t.Fatalf("two tasks: %d beats in a second, want 4", len(b.beats)-1)
	}
	want := []sched.Attained{
		{ID: sched.AttemptID{Job: sched.JobID{Lo: 1}, Attempt: 1}, Service: 19 * tenth},
		{ID: sched.AttemptID{Job: sched.JobID{Lo: 2}, Attempt: 1}, Service: second / 4, Running: true},
	}
	if got := b.beats[1].More.Slots; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("reports %+v, want %+v", got, want)
	}
}

// Whatever messages come, the backend gets only orders that it can carry out, N
// tasks run while some wait, and each is reported once.
func TestNodeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Options{
			Cores: rapid.IntRange(1, 3).Draw(t, "cores"), Extra: rapid.IntRange(1, 4).Draw(t, "q"), Passes: rapid.IntRange(0, 2).Draw(t, "s"),
		})
		jobs := uint64(0)
		pick := func() uint64 { return rapid.Uint64Range(1, max(1, jobs)).Draw(t, "job") }
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				jobs++
				b.launch(jobs)
			case 1:
				if job := pick(); b.runs[job] {
					b.end(job)
				}
			case 2:
				job := pick()
				_, started := b.runs[job]
				b.step(theMaster, &sched.Message{Kind: sched.Kill, Job: sched.JobID{Lo: job}, Attempt: 1})
				if started {
					b.end(job)
				}
			default:
				b.until(b.now + sched.Time(rapid.Int64Range(0, 15).Draw(t, "tenths"))*tenth)
			}
		}
		for range 100_000 {
			if running, _ := b.n.Tasks(); running == 0 {
				break
			}
			id, _ := b.n.Running()
			b.end(id.Job.Lo)
		}
		for job, n := range b.ended {
			if n != 1 {
				t.Fatalf("job %d was reported %d times", job, n)
			}
		}
		if len(b.runs) > 0 {
			t.Fatalf("%v were never reported", b.runs)
		}
	})
}
