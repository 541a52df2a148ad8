package executors

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// application is an application that has executors here. The manager's lock guards it.
type application struct {
	api.Application
	frontend    string
	address     string // of the frontend
	tenure      int64
	sequence    int64
	lastContact time.Time // with its frontend
	executors   map[string]*executor
	ended       []wire.HeldExecutor // the oldest first
	known       map[string]bool     // ids in ended, executors and the last order: none of them begins again
	last        int
	over        bool // its executors are stopped and nothing more starts
	retiring    int  // goroutines that remove folders of it; one that forgets it stays counted
	folder      string
}

// forget forgets the ids that the order does not list and that hold nothing.
func (a *application) forget(o *wire.Order) {
	known := make(map[string]bool, len(o.Executors)+len(a.ended))
	for _, id := range o.Executors {
		known[id] = true
	}
	for id := range a.executors {
		known[id] = true
	}
	for i := range a.ended {
		known[a.ended[i].State.ID] = true
	}
	a.known = known
}

// applications are the applications of a node by their ids. The manager's lock guards
// them.
type applications map[string]*application

// use reports whether an application needs the file with that SHA-256 sum.
func (l applications) use(sha256 string) bool {
	for _, a := range l {
		if slices.ContainsFunc(a.Template.Files, func(f api.File) bool { return f.SHA256 == sha256 }) {
			return true
		}
	}
	return false
}

// checkRoom returns why the node cannot run the executor in addition to those it has,
// nil when it can.
func (l applications) checkRoom(cfg *Config, a *application, x *executor) error {
	var memory, slots int64
	for _, b := range l {
		memory += b.memory()
		slots += b.slots()
	}
	bad := func(what, next string) error {
		return &api.Error{Problem: api.Busy, What: what, Subject: fmt.Sprintf("executor %s of application %q", x.id, a.ID), Tried: fmt.Sprintf("finding room for it on node %q", cfg.Node), Next: next}
	}
	switch {
	case memory+a.Template.Memory > cfg.Memory:
		return bad(fmt.Sprintf("it needs %d MB, and the node has %d MB for executors (memory), of which %d MB are taken%s", a.Template.Memory, cfg.Memory, memory, l.holders((*application).memory, "MB")),
			"give executors less memory, wait for other applications to end, or raise the node's memory")
	case !a.Grants && slots+int64(x.slots) > int64(cfg.Slots):
		return bad(fmt.Sprintf("it holds %d slots for as long as it runs, and the node has %d, of which %d are held so%s", x.slots, cfg.Slots, slots, l.holders((*application).slots, "slots")),
			"give executors fewer slots, wait for other applications to end, or let it use grants")
	}
	return nil
}

// memory returns the memory that the executors of the application use, in MB.
func (a *application) memory() int64 { return int64(len(a.executors)) * a.Template.Memory }

// slots returns how many slots its executors hold for as long as they run.
func (a *application) slots() (n int64) {
	if a.Grants {
		return 0
	}
	for _, x := range a.executors {
		n += int64(x.slots)
	}
	return n
}

// holders lists the applications that hold a part of something, the largest part first;
// it returns "" when none does.
func (l applications) holders(of func(*application) int64, unit string) string {
	var list []api.Share
	for _, a := range l { // Shares sorts them
		list = append(list, api.Share{Who: a.ID, Amount: of(a)})
	}
	return api.Shares(list, unit)
}
