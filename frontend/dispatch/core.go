package dispatch

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// core is the distributor core, which all parts of a dispatcher step.
type core struct {
	opts    Options
	process Process // set by Open
	addr    sched.Addr
	steps   *runloop.Stepper
	timers  *runloop.Timers
}

// Process identifies this process to other daemons.
type Process struct {
	Incarnation int64
	Internal    string // where it serves other daemons
	Scheduler   string // where it serves applications
	Token       uint64 // of its leadership; 0: no other process has its name
	Inbox       *link.Inbox
}

func newCore(o Options) *core {
	c := &core{opts: o, addr: o.Addrs.Addr(o.Self)}
	c.timers = runloop.NewTimers(o.Clock, func(_ sched.Addr, token uint64) {
		c.post(func() { c.Step(&sched.Message{Kind: sched.Timeout, Token: token}) })
	})
	return c
}

// post runs do on the owner goroutine, unless the daemon has stopped.
func (c *core) post(do func()) { _ = c.opts.Loop.PostUnbounded(do) }

// Step steps into the core a message that no peer can send.
func (c *core) Step(m *sched.Message) { c.stepFrom(sched.Addr{}, m) }

// StepReport steps a report of a worker, with its node where the attempt has no result.
func (c *core) StepReport(it *wire.Item) {
	if o := it.Msg.Outcome; o != sched.Done && o != sched.Failed {
		it.Msg.Node = it.From.Name
	}
	c.stepFrom(c.opts.Addrs.Addr(it.From), &it.Msg)
}

func (c *core) stepFrom(from sched.Addr, m *sched.Message) {
	c.steps.Step(c.opts.Core, c.addr, c.opts.Clock.Now(), from, m)
}

// withheld steps the answers to messages that a peer's version does not know. It may be
// called from anywhere.
func (c *core) withheld(peer wire.Ref, items []wire.Item) {
	c.post(func() {
		answers := c.opts.Unknown.Withheld(c.opts.Log, peer, items)
		for i := range answers {
			if from, ok := c.opts.Addrs.Find(answers[i].From); ok {
				c.stepFrom(from, &answers[i].Msg)
			}
		}
	})
}

// Messages returns how many messages the core has sent, as runloop.Stepper counts
// them. It may be called from anywhere.
func (c *core) Messages() uint64 { return c.steps.Messages() }

// Owed returns the sums over the unfinished jobs.
func (c *core) Owed() sched.Owed { return c.opts.Core.Owed() }

// JobView returns what the core holds of an unfinished job, with at most the given
// number of its tasks.
func (c *core) JobView(job sched.JobID, tasks int) (v sched.JobView, ok bool) {
	return c.opts.Core.JobView(job, tasks)
}

// Bound returns how many unfinished tasks of a job are at workers without a master.
func (c *core) Bound(job sched.JobID) int {
	if !c.opts.Policy.LateBinding {
		return 0
	}
	v, _ := c.JobView(job, 0)
	if !v.Late {
		return 0
	}
	return v.Bound
}

// Metrics are the metrics of a dispatcher.
type Metrics struct {
	ignored  prometheus.Counter
	reprobed prometheus.Counter
	refused  prometheus.Counter
}

// NewMetrics registers the metrics of a dispatcher.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		ignored:  m.Counter("stale_messages_total", "Batches and messages of nodes and frontends that were lost or restarted, or of a kind that they do not send, ignored."),
		reprobed: m.Counter("jobs_probed_again_total", "Jobs probed for again because no worker had asked for their tasks after daemons came or went."),
		refused:  m.Counter("hellos_refused_total", "Hellos of this frontend that a master refused; its log has the reason."),
	}
}
