package pigeon_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// bereft is a distributor that has lost the master of group 0, with a job of four tasks
// there, and has another group.
func bereft(t *testing.T) *frontend {
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 4})
	f.up(1, "")
	f.lose(0)
	return f
}

func (f *frontend) lose(g int32) []sched.Action {
	return f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: group(g)})
}

// A task that a node keeps reporting stays with the group that has lost its master: it runs
// once. One that is not reported any more is tried elsewhere.
func TestTasksThatRunWithoutTheirMaster(t *testing.T) {
	f := bereft(t)
	f.step(sched.Addr{}, heldThere(1, 2, 77))
	expectBlocks(t, "what nobody holds", f.pass(4*sched.Second), "1:0+1#2", "1:3+1#2")
	f.step(sched.Addr{}, heldThere(1, 0)) // an older attempt of 0 is not counted
	expectBlocks(t, "too early", f.pass(10*sched.Second-1))
	expectBlocks(t, "what is not reported again", f.pass(1), "1:2+1#2")
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Report, Job: jobOne, First: 1, Attempt: 1, Outcome: sched.Done})
	expectBlocks(t, "when all is elsewhere", f.pass(10*sched.Second))
	if len(f.timers) != 0 {
		t.Errorf("timers %v go on", f.timers)
	}
}

// A master that returns ends the wait, whatever state it was in; it is sent the tasks
// placed with it, and launches none of them before it is told to.
func TestMasterReturns(t *testing.T) {
	for name, c := range map[string]struct {
		held *sched.Message
		pass sched.Time
		want []string
	}{
		"before anybody reports": {nil, 1, []string{"0:0+4#1"}},
		"some reported":          {heldThere(1), 1, []string{"0:0+4#1"}},
		"after the look":         {heldThere(1), 4 * sched.Second, []string{"0:1+1#1"}},
	} {
		f := bereft(t)
		if c.held != nil {
			f.step(sched.Addr{}, c.held)
		}
		f.pass(c.pass)
		got := f.up(0, "")
		expectBlocks(t, name, got, c.want...)
		for _, a := range sent(got) {
			if !a.Msg.Resent {
				t.Errorf("%s: sent %s", name, sched.DescribeAction(&a))
			}
		}
		expectBlocks(t, name+", later", f.pass(30*sched.Second))
	}
}

// The loss declared twice begins one wait, and a process that was paused gives its nodes
// another one.
func TestLookThatComesLate(t *testing.T) {
	f := bereft(t)
	f.pass(2 * sched.Second)
	f.lose(0)
	expectBlocks(t, "long after", f.pass(4*sched.Second))
	f.step(sched.Addr{}, heldThere(0, 1, 2))
	expectBlocks(t, "at the next", f.pass(4*sched.Second), "1:3+1#2")
}

// A distributor that is started again while a group has no master waits for the group's
// nodes too, and the master that comes then answers for what they reported.
func TestRestartWithoutTheMaster(t *testing.T) {
	for _, reported := range []bool{true, false} {
		f := restarted(t)
		f.lose(1)
		f.up(0, "")
		f.step(group(0), holding(0, 3, 1))
		f.step(group(0), &sched.Message{Kind: sched.Holding})
		f.step(sched.Addr{}, heldThere(3))
		f.pass(2 * sched.Second)
		expectBlocks(t, "what nobody holds", f.pass(2*sched.Second), "0:4+1#10001")
		if !reported {
			expectBlocks(t, "when the master comes", f.up(1, ""))
			f.step(group(1), &sched.Message{Kind: sched.Holding})
			expectBlocks(t, "when it does not have it", f.pass(2*sched.Second), "1:3+1#10001")
			continue
		}
		f.step(sched.Addr{}, heldThere(3))
		expectBlocks(t, "when the master comes", f.up(1, ""), "1:3+1#1")
	}
}
