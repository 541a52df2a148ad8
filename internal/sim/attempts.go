package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Only the loss of its node is a reason to start a task again that runs well. The check
// holds for dead masters and frontends and for paused daemons. A network that loses or
// delays messages, and daemons that take others for lost, hide running tasks from the cores
// that decide.
const twiceKinds = CrashMaster | CrashFrontend | Pause

// ranFor is how long an attempt has run when all cores that decide have heard of it:
// nodes list what they hold every five seconds.
const ranFor = inventoryEvery * heartbeat

// twice is what the check knows of attempts.
type twice struct {
	starts   map[sched.AttemptID]begun
	last     map[taskID]sched.AttemptID // that started
	numbered map[sched.AttemptID]sched.Time
}

type begun struct {
	node *node
	at   sched.Time
	over bool
}

type taskID struct {
	job  sched.JobID
	task int32
}

// trouble is a time in which a node was dead, paused, cut off, or taken for lost.
type trouble struct{ from, until sched.Time }

func (n *node) troubled(from, until sched.Time) {
	n.troubles = append(n.troubles, trouble{from, until})
}

// hadTrouble reports whether a node had trouble between two instants.
func (n *node) hadTrouble(from, until sched.Time) bool {
	for _, t := range n.troubles {
		if t.from <= until && from <= t.until {
			return true
		}
	}
	return false
}

// countAttempt records when a number was given to tasks.
func (c *checker) countAttempt(m *sched.Message, now sched.Time) {
	id := m.AttemptID()
	for end := id.Task + max(1, m.Count); id.Task < end; id.Task++ {
		if _, known := c.twice.numbered[id]; !known {
			c.twice.numbered[id] = now
		}
	}
}

// over records that an attempt has ended, in whatever way.
func (c *checker) over(id sched.AttemptID) {
	b := c.twice.starts[id]
	b.over = true
	c.twice.starts[id] = b
}

// startAgain checks an attempt that starts against the one of its task that started before:
// when the number was given, that one had ended, or had not been running for long, or its
// node had had trouble, perhaps while the launch was in transit.
func (c *checker) startAgain(later sched.AttemptID, node *node, now sched.Time) {
	task := taskID{later.Job, later.Task}
	earlier, some := c.twice.last[task]
	c.twice.last[task] = later
	c.twice.starts[later] = begun{node: node, at: now}
	numbered, known := c.twice.numbered[later]
	if !some || !known || later.Attempt < earlier.Attempt || c.faults.Kinds&^twiceKinds != 0 {
		return
	}
	began := c.twice.starts[earlier]
	c.mustf(checkTwice, began.over || numbered-began.at < ranFor || began.node.hadTrouble(began.at-heartbeat, numbered),
		"%s starts beside %s, which had run since %s when the later was numbered at %s; %s had had no trouble",
		later, earlier, seconds(began.at), seconds(numbered), began.node.daemonID)
}
