package nodemonitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// drainFile is the file in the node's work folder by which a drain outlives the process.
const drainFile = "drain.json"

// drain is the drain of a node, as the file has it. The deadline is compared with the clock of
// this host only.
type drain struct {
	Deadline time.Time `json:"deadline"` // zero: none
	timer    *time.Timer
}

// drains passes orders of frontends to the owner goroutine.
type drains struct{ n *NodeMonitor }

var _ wire.DrainReceiver = drains{}

// Drain implements wire.DrainReceiver.
func (d drains) Drain(ctx context.Context, o wire.DrainOrder) (wire.DrainReply, error) {
	n := d.n
	mailbox := daemon.Mailbox{Name: fmt.Sprintf("node %q", n.cfg.ID), Post: func(do func()) error { return n.loop.Post(event{do: do}) }}
	tried := "draining it"
	if o.Resume {
		tried = "resuming it"
	}
	type answer struct {
		reply wire.DrainReply
		err   error
	}
	a, err := daemon.Ask(ctx, mailbox, tried, func() (a answer) {
		if o.Resume {
			a.err = n.resume()
		} else {
			a.err = n.drain(o)
		}
		a.reply = n.drainReply()
		return a
	})
	if err == nil {
		err = a.err
	}
	return a.reply, err
}

// drainReply returns the state of the node, and what is left there.
func (n *NodeMonitor) drainReply() wire.DrainReply {
	kept, _ := n.owner.results.Kept()
	r := wire.DrainReply{State: n.drainState(), Running: n.owner.workers.Attempts(), Results: kept}
	if fault := n.owner.diskFault; fault != "" {
		r.Reason = "its disk does not take what tasks write: " + fault
	}
	return r
}

// drainState returns the node's state by the words of the user interface.
func (n *NodeMonitor) drainState() string {
	switch draining, drained := n.owner.workers.Draining(); {
	case drained:
		return api.StateDrained
	case draining:
		return api.StateDraining
	}
	return api.StateUp
}

// drain begins a drain, or changes the deadline of the current one.
func (n *NodeMonitor) drain(o wire.DrainOrder) error {
	d := &drain{}
	switch {
	case o.Kill:
		d.Deadline = time.Now()
	case o.Deadline > 0:
		d.Deadline = time.Now().Add(o.Deadline)
	}
	if err := d.write(n.drainPath()); err != nil {
		n.backends.Disk().LookSoon()
		return &api.Error{Problem: api.Internal, What: err.Error(), Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "recording in its work folder that it drains; nothing was changed", Next: "make room there, or make it writable, and try again"}
	}
	n.log.Info("the node drains: it takes nothing new", "deadline", d.Deadline, "attempts", n.owner.workers.Attempts())
	n.applyDrain(d)
	return nil
}

// applyDrain makes the parts of the node drain. It runs on the owner goroutine, or before that
// one runs.
func (n *NodeMonitor) applyDrain(d *drain) {
	n.endDrainTimer()
	o := n.owner
	o.drain = d
	n.applyNothingNew()
	if !d.Deadline.IsZero() {
		d.timer = time.AfterFunc(time.Until(d.Deadline), func() {
			n.do(func() {
				if o.drain == d {
					n.withdrawAttempts()
				}
			})
		})
	}
}

// withdrawAttempts gives back what still runs.
func (n *NodeMonitor) withdrawAttempts() {
	if attempts := n.owner.workers.Withdraw(); attempts > 0 {
		n.log.Info("the drain's deadline is over: attempts that still run are given back", "attempts", attempts)
	}
	n.backends.Applications().EndExecutors()
}

// resume ends a drain.
func (n *NodeMonitor) resume() error {
	o := n.owner
	if o.stopping {
		return &api.Error{Problem: api.Invalid, What: "its node monitor is stopping, and waits for what runs there", Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "resuming it", Next: "start its node monitor again; resume the node then if it still drains"}
	}
	if o.diskFault != "" {
		n.backends.Disk().LookSoon() // it may have been mended just now
	}
	if o.drain == nil && o.diskFault != "" {
		return &api.Error{Problem: api.Invalid, What: "it was not told to drain; it takes nothing because the disk of its work folder does not take what tasks write: " + o.diskFault, Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "resuming it; its disk is looked at once more", Next: "make room there, or repair it; the node takes tasks again by itself then"}
	}
	if o.drain == nil {
		return &api.Error{Problem: api.Invalid, What: "it is not draining and takes tasks already", Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "resuming it", Next: "there is nothing to do"}
	}
	if err := os.Remove(n.drainPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &api.Error{Problem: api.Internal, What: err.Error(), Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "recording that its drain is over; it goes on draining", Next: "make its work folder writable, and try again"}
	}
	n.endDrainTimer()
	o.drain = nil
	n.log.Info("the drain is over")
	n.applyNothingNew()
	return nil
}

func (n *NodeMonitor) endDrainTimer() {
	if d := n.owner.drain; d != nil && d.timer != nil {
		d.timer.Stop()
	}
}

// resumeDrain continues the drain of an earlier process of this node, if there was one.
func (n *NodeMonitor) resumeDrain() error {
	data, err := os.ReadFile(n.drainPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d := &drain{}
	if err == nil {
		err = json.Unmarshal(data, d)
	}
	if err != nil {
		return &api.Error{Problem: api.Internal, What: err.Error(), Subject: "file " + n.drainPath(), Tried: "reading whether the node drains", Next: "remove the file to have the node take tasks"}
	}
	n.log.Info("the node drains, as it did before it was started again; `pigeon node resume` ends that", "deadline", d.Deadline)
	n.applyDrain(d)
	return nil
}

func (n *NodeMonitor) drainPath() string {
	return filepath.Join(n.cfg.workDir(os.TempDir()), drainFile)
}

// write writes the file, in place of an older one. It is on the disk then, whole: one that
// cannot be read after a power failure would prevent the start of the node.
func (d *drain) write(path string) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = files.Replace(path, 0o600, data)
	}
	return err
}
