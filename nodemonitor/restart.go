package nodemonitor

import (
	"bytes"
	"encoding/gob"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/sleep"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// restart is how this process continues what a former one of the node ran, and leaves it to
// the next one (docs/adr/0034-restart-grace.md).
type restart struct {
	grace    time.Duration // for how long running attempts outlive this process; 0: none does
	results  time.Duration // likewise the results that no frontend has accepted
	prepared atomic.Bool   // PrepareRestart was called
	lineage  lineage

	// What was found of the former process, until this one is registered.
	adoption  *guard.Adoption // nil without its guard
	handover  *handover       // nil unless it stopped in an orderly way
	away      time.Duration   // since it wrote that
	continues []int64
	complete  bool
	ended     bool // its guard has ended, with all that it ran
}

// lineage is what the guard keeps for the next process.
type lineage struct {
	Incarnations []int64 // that the next process continues, the latest last
	Life         uint64  // how often attempts were taken over
}

// lifeBits leaves 2^40 sequence numbers to the slots of a life.
const lifeBits = 40

// firstSeq is where the sequence numbers of slots begin: far above those of the processes
// before, so that no launch fits that was meant for one of them.
func (r *restart) firstSeq() uint64 { return r.lineage.Life << lifeBits }

// encode returns the lineage for the guard.
func (l *lineage) encode() []byte {
	var b bytes.Buffer
	_ = gob.NewEncoder(&b).Encode(l) // a buffer does not fail, and nothing in it cannot be encoded
	return b.Bytes()
}

func decodeLineage(data []byte) (l lineage) {
	if gob.NewDecoder(bytes.NewReader(data)).Decode(&l) != nil {
		return lineage{} // of another build: nothing can be continued
	}
	return l
}

// PrepareRestart makes Run, when its context ends, leave the running attempts to the process
// that is started next, where restart_grace allows that. It may be called from anywhere.
func (n *NodeMonitor) PrepareRestart() { n.restart.prepared.Store(true) }

// endsForRestart reports whether the running attempts are left to the next process.
func (n *NodeMonitor) endsForRestart() bool {
	return n.restart.prepared.Load() && n.restart.grace > 0
}

// note returns the function that encodes the launch of an attempt for the next process, nil
// when there is no next one.
func (n *NodeMonitor) note() func(*wire.Item) []byte {
	if n.restart.grace == 0 {
		return nil
	}
	return n.encodeLaunch
}

// encodeLaunch returns a launch in its form on the wire; nil when it cannot be sent, so that
// its attempt is not taken over.
func (n *NodeMonitor) encodeLaunch(it *wire.Item) []byte {
	data, err := n.codec.Append(nil, &wire.Batch{Sender: n.self.master, Receiver: n.self.Ref, Items: []wire.Item{*it}})
	if err != nil {
		n.log.Error("an attempt cannot be described for the next process of this node; it ends with this one", "attempt", it.Msg.AttemptID(), "error", err)
		return nil
	}
	return data
}

func (n *NodeMonitor) decodeLaunch(note []byte) (*wire.Item, error) {
	b, err := n.codec.Decode(note)
	if err != nil {
		return nil, err
	}
	if len(b.Items) != 1 || b.Items[0].Msg.Kind != sched.Launch {
		return nil, errors.New("its note is no launch")
	}
	return &b.Items[0], nil
}

// findFormer looks for what a former process of this node has left: its guard with processes,
// and its handover.
func (n *NodeMonitor) findFormer() {
	r := &n.restart
	r.handover, r.away = readHandover(n.backends.Folder(), n.cfg.RestartGrace, n.log)
	var refused *guard.RefusedError
	var err error
	switch r.adoption, err = n.backends.Adopt(); {
	case errors.As(err, &refused) && refused.Ends:
		n.log.Warn("the guard of the former process of this node has ended; what it ran is given back", "error", err)
		r.lineage, r.ended = decodeLineage(refused.Kept), true
	case err != nil:
		n.log.Error("the guard of the former process of this node cannot be used; what it runs ends when restart_grace is over, or before", "error", err)
	case r.adoption != nil:
		r.lineage = decodeLineage(r.adoption.Kept)
		n.backends.SetLeaving(true) // should this process not come to run
	}
	r.decide()
	r.lineage.Incarnations = append(r.lineage.Incarnations, n.self.Incarnation)
	r.lineage.Incarnations = r.lineage.Incarnations[max(0, len(r.lineage.Incarnations)-wire.MaxContinues):]
	n.keepLineage()
}

// decide determines from what was found which processes this one continues, and whether it
// has all that they had.
func (r *restart) decide() {
	h := r.handover
	if h != nil && len(r.lineage.Incarnations) > 0 && !h.Lineage.same(&r.lineage) {
		h = nil // of an earlier process than the guard's last client
	}
	if h != nil {
		r.lineage = h.Lineage
	}
	// Without grace, what is found is killed in an orderly way.
	r.complete = h != nil && (h.Processes == 0 || r.adoption != nil) || r.grace == 0 && r.adoption != nil || r.ended
	r.handover = h
	if len(r.lineage.Incarnations) > 0 {
		r.continues = r.lineage.Incarnations
		r.lineage.Life++
	}
}

func (l *lineage) same(o *lineage) bool {
	a, b := l.Incarnations, o.Incarnations
	return len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1]
}

func (n *NodeMonitor) keepLineage() {
	if n.restart.grace > 0 {
		n.backends.Keep(n.restart.lineage.encode())
	}
}

// accepted is called when the master has accepted a hello: the next process continues this
// one, and no earlier one.
func (r *restart) accepted(n *NodeMonitor) {
	if r.continues == nil && len(r.lineage.Incarnations) <= 1 {
		return
	}
	r.continues, r.complete = nil, false
	r.lineage.Incarnations = []int64{n.self.Incarnation}
	n.keepLineage()
}

// takeOver enters what the former process has left. It is called before this process runs.
func (n *NodeMonitor) takeOver() {
	o, r := n.owner, &n.restart
	o.now = o.clock.Now()
	if r.handover != nil {
		n.restoreResults(r.handover)
	}
	taken := map[guard.Handle]bool{}
	if r.adoption != nil && r.grace > 0 {
		for i := range r.adoption.Held {
			h := &r.adoption.Held[i]
			taken[h.Handle] = h.Note != nil && n.takeOverProcess(h)
		}
	}
	sleeps := 0
	if r.handover != nil && r.grace > 0 {
		for i := range r.handover.Sleeps {
			if n.takeOverSleep(&r.handover.Sleeps[i]) {
				sleeps++
			}
		}
	}
	n.backends.Logs().Continued()
	o.workers.Restore()
	if r.adoption != nil {
		n.backends.Follow(r.adoption, taken)
	}
	if len(r.continues) > 0 {
		n.log.Info("this node monitor was started again and goes on with what the former one ran", "attempts", o.workers.Attempts(), "sleeping", sleeps, "complete", r.complete)
	}
	r.adoption, r.handover = nil, nil
}

// takeOverProcess continues the attempt of a process; false when the process has to be killed.
func (n *NodeMonitor) takeOverProcess(h *guard.Held) bool {
	it, err := n.decodeLaunch(h.Note)
	if err == nil && n.owner.results.Find(it.Msg.AttemptID()) != nil {
		return true // its result was handed over
	}
	return err == nil && n.continueAttempt(&slots.Adoption{Launch: it, Backend: n.backends.Exec(), Ran: h.Ran - h.Stopped, Began: h.Began, Suspended: h.Suspended && h.End == nil}, func(t backend.Task, done func(backend.Result)) {
		n.backends.TakeOver(h, t, done)
	})
}

func (n *NodeMonitor) takeOverSleep(s *handedSleep) bool {
	it, err := n.decodeLaunch(s.Note)
	if err != nil {
		return false
	}
	left := sleep.Handover{ID: it.Msg.AttemptID(), Remains: s.Remains, Suspended: s.Suspended, Started: time.Now().Add(-s.Age - n.restart.away)}
	ran := s.Ran
	if !s.Suspended {
		ran += n.restart.away
	}
	return n.continueAttempt(&slots.Adoption{Launch: it, Backend: n.backends.Sleep(), Ran: ran, Began: true, Suspended: s.Suspended}, func(_ backend.Task, done func(backend.Result)) {
		n.backends.TakeOverSleep(left, n.restart.away, done)
	})
}

func (n *NodeMonitor) continueAttempt(c *slots.Adoption, begin func(backend.Task, func(backend.Result))) bool {
	task, done, err := n.owner.workers.Continue(c)
	if err != nil {
		n.log.Warn("an attempt of the former process of this node is not continued", "attempt", c.Launch.Msg.AttemptID(), "error", err)
		return false
	}
	begin(task, done)
	return true
}
