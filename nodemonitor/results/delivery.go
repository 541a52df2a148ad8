package results

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// One message holds this many reports at most, and bytes by wire.Item's bound: a
// NATS server accepts 1 MiB.
const (
	maxReports     = 1000
	maxReportBytes = 900_000
)

// nextMessage returns one message of results that are due, the fresh ones before those sent a
// heartbeat ago, and marks them as sent now. It reuses items.
func (r *Reporter) nextMessage(f *frontend, items []wire.Item) []wire.Item {
	items = items[:0]
	size, now := 0, r.cfg.Now()
	add := func(place int32) {
		e := &r.store.table[place]
		e.sentAt = now
		items = append(items, wire.Item{})
		it := &items[len(items)-1]
		e.item(r.cfg.Self.Ref, it)
		size += it.Size()
		r.store.move(place, &f.sent)
	}
	hasRoom := func() bool { return len(items) < maxReports && size < maxReportBytes }
	for f.fresh.n > 0 && hasRoom() {
		add(f.fresh.first)
	}
	fresh := len(items)
	r.cfg.Metrics.sent[first].Add(float64(fresh))
	for f.sent.n > fresh && hasRoom() && r.isDue(f) {
		add(f.sent.first)
	}
	r.cfg.Metrics.sent[repeated].Add(float64(len(items) - fresh))
	return items
}

// isDue reports whether the result that was sent the longest ago must be sent again.
func (r *Reporter) isDue(f *frontend) bool {
	return f.sent.n > 0 && r.cfg.Now()-r.store.table[f.sent.first].sentAt >= r.cfg.Heartbeat
}

// publish sends one notice of what is due; it returns false when notices cannot be sent.
func (r *Reporter) publish(f *frontend) bool {
	if r.notices == nil {
		return false
	}
	r.scratch = r.nextMessage(f, r.scratch)
	err := r.notices.Report(r.cfg.Self.Batch(f.ref, r.scratch))
	if err != nil {
		r.cfg.Metrics.unpublished.Add(float64(len(r.scratch)))
		for i := range r.scratch {
			r.store.move(r.store.index[r.scratch[i].Msg.AttemptID()], &f.fresh)
		}
	}
	clear(r.scratch)
	return err == nil
}

// call sends one message of what is due by Thrift, unless a call is under way or the
// frontend did not answer a moment ago; then the answer or the next heartbeat leads
// back here.
func (r *Reporter) call(f *frontend) {
	if f.calling || r.muted || f.address == "" || r.cfg.Now() < f.notBefore {
		return
	}
	items := r.nextMessage(f, nil)
	if len(items) == 0 {
		return
	}
	f.calling = true
	c := newCall(items)
	r.cfg.Calls.Report(f.address, r.cfg.Self.Batch(f.ref, items), func(reply wire.ReportsReply, err error) {
		r.cfg.Post(func() { r.answered(f, c, reply, err) })
	})
}

// answered handles the answer to a call. It applies to what the call sent, and to nothing
// that came since.
func (r *Reporter) answered(f *frontend, c *call, reply wire.ReportsReply, err error) {
	f.calling = false
	defer r.checkDrained()
	if err == nil && reply.Sender != "" && reply.Sender != f.ref.Name {
		r.cfg.Metrics.ignored[byAnother].Inc()
		err = &api.Error{Problem: api.NotReady, What: fmt.Sprintf("frontend %q answers there by now; its answer was ignored", reply.Sender), Subject: fmt.Sprintf("frontend %q at %s", f.ref.Name, f.address),
			Tried: "reporting results", Next: "nothing, if the frontend moved to another address: the node learns of it"}
	}
	if err != nil {
		f.failures++
		f.notBefore = r.cfg.Now() + sched.Time(connections.PauseAfter(f.failures))
		if f.failures == 1 {
			r.cfg.Log.Warn("results could not be reported; they are kept and sent again", "frontend", f.ref.Name, "address", f.address, "kept", f.kept(), "error", err)
		}
		r.handOverLater(f, err)
		return
	}
	if r.cfg.Answered != nil {
		r.cfg.Answered(f.addr, reply.Incarnation, f.failures > 0)
	}
	f.failures, f.notBefore, f.heardAt = 0, 0, r.cfg.Now()
	r.acknowledge(f, reply.Acknowledged, func(i int) int64 { return c.sent[reply.Acknowledged[i]] })
	if reply.Sender != "" { // a frontend of an earlier version may be another one
		r.forgetUnknown(f, c, reply.Unknown)
	}
	if f.fresh.n > 0 || r.isDue(f) {
		r.call(f)
	}
}

// forgetUnknown drops the results of jobs that their frontend does not know, among those
// that the call sent, and reports the jobs.
func (r *Reporter) forgetUnknown(f *frontend, c *call, unknown []sched.JobID) {
	if len(unknown) == 0 {
		return
	}
	jobs := make(map[sched.JobID]bool, len(unknown)) // true once it was sent by this call
	for _, job := range unknown {
		jobs[job] = false
	}
	dropped := 0
	for id, number := range c.sent {
		if _, is := jobs[id.Job]; !is {
			continue
		}
		jobs[id.Job] = true
		if r.store.keeps(id, number, f) && r.store.drop(id) {
			dropped++
		}
	}
	r.cfg.Metrics.dropped.Add(float64(dropped))
	for _, job := range unknown {
		if jobs[job] {
			jobs[job] = false
			r.cfg.UnknownJob(f.addr, job, c.at)
		}
	}
}

// call is a Reports call under way.
type call struct {
	sent map[sched.AttemptID]int64 // the numbers of the results that it sent
	at   time.Time                 // when it was made
}

func newCall(items []wire.Item) *call {
	c := &call{sent: make(map[sched.AttemptID]int64, len(items)), at: time.Now()}
	for i := range items {
		c.sent[items[i].Msg.AttemptID()] = items[i].ResultNumber
	}
	return c
}
