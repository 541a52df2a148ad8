package nodemonitor

import (
	"encoding/gob"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// handoverVersion is that of the file; one of another version is ignored.
const handoverVersion = 1

// handoverFile is its name in the node's work folder.
const handoverFile = "handover"

// handover is what a process that stops to be started again leaves in addition to its guard.
type handover struct {
	Version   int
	Boot      string        // of the machine, whose clock At is by
	At        time.Duration // since then
	Lineage   lineage
	Processes int // attempts that its guard runs
	Sleeps    []handedSleep
	Results   []handedResult
	Started   slots.Starts
}

// handedSleep is a sleeping task.
type handedSleep struct {
	Note      []byte
	Remains   time.Duration
	Suspended bool
	Ran, Age  time.Duration // without and with suspensions
}

// handedResult is a result that its frontend has not acknowledged.
type handedResult struct {
	Frontend string
	Address  string
	Result   results.Result
}

// sinceBoot returns the machine's life and how long it has lasted, suspensions included.
func sinceBoot() (boot string, now time.Duration, err error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, err
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(string(id)), time.Duration(t.Nano()), nil
}

// readHandover returns what the former process has left, and how long it has been there;
// nil when there is nothing, or it is too old.
func readHandover(folder string, grace time.Duration, log *slog.Logger) (*handover, time.Duration) {
	ignored := func(err error) (*handover, time.Duration) {
		log.Warn("what the former process of this node handed over is not used; its sleeping tasks are lost", "error", err)
		return nil, 0
	}
	f, err := os.Open(filepath.Join(folder, handoverFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0
	} else if err != nil {
		return ignored(err)
	}
	defer func() { _ = f.Close() }() // only read
	h := &handover{}
	if err := gob.NewDecoder(f).Decode(h); err != nil {
		return ignored(err)
	}
	boot, now, err := sinceBoot()
	switch away := now - h.At; {
	case err != nil:
		return ignored(err)
	case h.Version != handoverVersion:
		return ignored(errors.New("it was written by another version of pigeon"))
	case h.Boot != boot || away < 0 || away > grace:
		return ignored(errors.New("it is older than restart_grace"))
	default:
		return h, away
	}
}

// write writes the file in one piece.
func (h *handover) write(folder string) (err error) {
	h.Version = handoverVersion
	if h.Boot, h.At, err = sinceBoot(); err != nil {
		return err
	}
	path := filepath.Join(folder, handoverFile)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = gob.NewEncoder(f).Encode(h)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// removeHandover removes what was read: the next process gets another one, or none.
func (n *NodeMonitor) removeHandover() {
	n.backends.SetLeaving(false) // from now on, an orderly end is final
	if err := os.Remove(filepath.Join(n.backends.Folder(), handoverFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("what the former process of this node handed over cannot be removed", "error", err)
	}
}

// leaveRunning ends this process and leaves the running tasks to the next one: processes to
// the guard, the others in a file.
func (n *NodeMonitor) leaveRunning() {
	o := n.owner
	var last *wire.Snapshot
	n.call(func() {
		last = n.snapshot()
		o.workers.Stop()
	})
	last.Away = n.restart.grace
	n.registration.Withdraw(last)
	h := &handover{}
	left := n.backends.Leave() // the ends are in the inbox when it returns
	n.call(func() {
		for i := range left {
			l := &left[i]
			if it, ran, found := o.workers.Continues(l.ID); found && it.MaxDisconnect == 0 { // how long the node is away is not known
				h.Sleeps = append(h.Sleeps, handedSleep{n.encodeLaunch(it), l.Remains, l.Suspended, ran, time.Since(l.Started)})
			}
		}
		h.Processes = o.workers.In(n.backends.Exec())
		o.handOver(h, n.restart.lineage)
	})
	if err := h.write(n.backends.Folder()); err != nil {
		n.log.Error("sleeping tasks and results cannot be handed over to the next process of this node, and are lost", "error", err, "sleeping", len(h.Sleeps), "results", len(h.Results))
	}
	n.log.Info("what runs is left to the next process of this node", "processes", h.Processes, "sleeping", len(h.Sleeps), "results", len(h.Results), "restart_grace", n.restart.grace)
}

// handOver adds what the owner has of results to a handover, and reports none any more.
func (o *owner) handOver(h *handover, l lineage) {
	o.results.Each(0, func(to sched.Addr, r *results.Result) bool {
		name, address := o.results.Reachable(to)
		h.Results = append(h.Results, handedResult{name, address, *r})
		return true
	})
	h.Lineage, h.Started = l, o.workers.Started()
	o.results.Mute()
	o.inventories.Mute()
}

// leaveResults leaves the results that no frontend has acknowledged to the next process of this node, and has
// its master wait for that: their tasks have ended. It returns false when there are none, or nothing can be left.
func (n *NodeMonitor) leaveResults() bool {
	if n.restart.results == 0 {
		return false
	}
	o, h, ended := n.owner, &handover{}, 0
	var last *wire.Snapshot
	n.call(func() {
		o.results.Each(0, func(_ sched.Addr, r *results.Result) bool {
			if r.Outcome == sched.Done || r.Outcome == sched.Failed {
				ended++
			}
			return true
		})
		if ended > 0 {
			last = n.snapshot()
			o.handOver(h, n.restart.lineage)
		}
	})
	if ended == 0 {
		return false
	}
	if err := h.write(n.backends.Folder()); err != nil {
		n.log.Error("results cannot be left to the next process of this node, and are lost; their tasks are tried again", "error", err, "results", ended)
		last.Stopping = true
	} else {
		n.log.Warn("results were not acknowledged; they are left to the next process of this node", "results", ended, "restart_grace", n.restart.results)
		last.Away = n.restart.results
	}
	n.registration.Withdraw(last)
	n.drainMessages()
	return true
}

// restoreResults keeps what the former process has kept.
func (n *NodeMonitor) restoreResults(h *handover) {
	o := n.owner
	o.workers.Remember(h.Started)
	for i := range h.Results {
		r := &h.Results[i]
		to := o.addrs.Addr(wire.Ref{Role: sched.Distributor, Name: r.Frontend})
		if !o.results.CanReport(to) {
			continue // more frontends than there may be
		}
		o.results.Reached(to, r.Address)
		o.results.Keep(to, r.Result)
	}
}
