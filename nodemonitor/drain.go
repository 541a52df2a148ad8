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
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// drainFile is the file in the node's work folder with which a drain outlives the process.
const drainFile = "drain.json"

// drain is the drain of a node, as the file has it. The deadline is compared with the clock of
// this host only.
type drain struct {
	Deadline time.Time `json:"deadline"` // zero: none
	timer    *time.Timer
}

// drains passes orders of frontends to the owner goroutine. Each is recorded in the work folder first, one at a
// time, by a goroutine that waits for its disk.
type drains struct {
	n         *NodeMonitor
	recording chan struct{} // holds one
}

var _ wire.DrainReceiver = drains{}

// Drain implements wire.DrainReceiver.
func (d drains) Drain(ctx context.Context, o wire.DrainOrder) (wire.DrainReply, error) {
	ctx, cancel := context.WithTimeout(ctx, disk.DefaultPatience)
	defer cancel()
	select {
	case d.recording <- struct{}{}:
	case <-ctx.Done():
		return wire.DrainReply{}, d.n.drainError(api.NotReady, &o, "its disk does not answer, and an earlier order waits for it", "look at that disk, and try again")
	}
	type answer struct {
		reply wire.DrainReply
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-d.recording }()
		r, err := d.n.carryOut(&o)
		done <- answer{r, err}
	}()
	select {
	case a := <-done:
		return a.reply, a.err
	case <-ctx.Done():
		return wire.DrainReply{}, d.n.drainError(api.NotReady, &o, "its disk does not answer", "look at that disk; the order is carried out when it answers")
	}
}

// carryOut records an order and then carries it out. It is called for one order at a time.
func (n *NodeMonitor) carryOut(o *wire.DrainOrder) (r wire.DrainReply, err error) {
	record := n.recordDrain
	if o.Resume {
		record = n.recordResume
	}
	apply, err := record(o)
	if err != nil {
		return r, err
	}
	if !n.call(func() { apply(); r = n.drainReply() }) {
		err = n.drainError(api.NotReady, o, "its node monitor is stopping", "try again when it is back")
	}
	return r, err
}

// drainError returns the error of an order.
func (n *NodeMonitor) drainError(p api.Problem, o *wire.DrainOrder, what, next string) error {
	tried := "draining it"
	if o.Resume {
		tried = "resuming it"
	}
	return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: tried, Next: next}
}

// drainReply returns the state of the node, and what is left there.
func (n *NodeMonitor) drainReply() wire.DrainReply {
	kept, _ := n.owner.results.Kept()
	r := wire.DrainReply{State: n.drainState(), Running: n.owner.workers.Attempts() + n.backends.Applications().Present().Executors, Results: kept}
	r.Reason = n.owner.fault()
	return r
}

// drainState returns the node's state by the words of the user interface.
func (n *NodeMonitor) drainState() string {
	switch draining, drained := n.owner.workers.Draining(); {
	case drained && n.backends.Applications().Present().Executors == 0:
		return api.StateDrained
	case draining:
		return api.StateDraining
	}
	return api.StateUp
}

// recordDrain records that a drain begins, or that its deadline changes, and returns what the owner goroutine
// does then.
func (n *NodeMonitor) recordDrain(o *wire.DrainOrder) (apply func(), err error) {
	d := &drain{}
	switch {
	case o.Kill:
		d.Deadline = time.Now()
	case o.Deadline > 0:
		d.Deadline = time.Now().Add(o.Deadline)
	}
	if err := d.write(n.drainPath()); err != nil {
		n.backends.Disk().LookSoon()
		return nil, &api.Error{Problem: api.Internal, What: err.Error(), Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "recording in its work folder that it drains; nothing was changed", Next: "make room there, or make it writable, and try again"}
	}
	return func() {
		n.log.Info("the node drains: it takes nothing new", "deadline", d.Deadline, "attempts", n.owner.workers.Attempts())
		n.applyDrain(d)
	}, nil
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

// recordResume records that the drain is over, and returns what the owner goroutine does then.
func (n *NodeMonitor) recordResume(o *wire.DrainOrder) (apply func(), err error) {
	if !n.call(func() { err = n.mayResume(o) }) {
		err = n.drainError(api.NotReady, o, "its node monitor is stopping", "try again when it is back")
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(n.drainPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &api.Error{Problem: api.Internal, What: err.Error(), Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "recording that its drain is over; it goes on draining", Next: "make its work folder writable, and try again"}
	}
	return func() {
		n.endDrainTimer()
		n.owner.drain = nil
		n.log.Info("the drain is over")
		n.applyNothingNew()
	}, nil
}

// mayResume returns why there is no drain to end, nil when there is one. It runs on the owner goroutine.
func (n *NodeMonitor) mayResume(order *wire.DrainOrder) error {
	o := n.owner
	if o.diskFault != "" {
		n.backends.Disk().LookSoon() // it may have been mended just now
	}
	switch {
	case o.stopping:
		return n.drainError(api.Invalid, order, "its node monitor is stopping, and waits for what runs there", "start its node monitor again; resume the node then if it still drains")
	case o.drain == nil && o.fault() != "":
		return &api.Error{Problem: api.Invalid, What: "it was not told to drain; it takes nothing because of a fault: " + o.fault(), Subject: fmt.Sprintf("node %q", n.cfg.ID), Tried: "resuming it; its disk is looked at once more", Next: "see docs/operations.md for that fault; the node takes tasks again by itself once it is over"}
	case o.drain == nil:
		return n.drainError(api.Invalid, order, "it is not draining and takes tasks already", "there is nothing to do")
	}
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
	n.log.Info("the node drains, as it did before it was started again; `pigeon nodes resume` ends that", "deadline", d.Deadline)
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
