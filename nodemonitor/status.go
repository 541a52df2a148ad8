package nodemonitor

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
)

// state is what /status shows.
type state struct {
	Node        string              `json:"node"`
	Policy      string              `json:"policy"`
	Group       int                 `json:"group"`
	Incarnation int64               `json:"incarnation"`
	Address     string              `json:"address"`
	Master      string              `json:"master"`
	Standing    registration.Status `json:"standing"`
	State       string              `json:"state"` // up, draining or drained
	NATS        bool                `json:"nats"`  // connected
	Epoch       uint64              `json:"epoch"`
	Serves      []string            `json:"serves"`
	Slots       []slots.Status      `json:"slots"`
	Kept        int                 `json:"kept_results"`
	KeptBytes   int64               `json:"kept_result_bytes"`
	Frontends   []results.Frontend  `json:"frontends"`
	Backends    app.Stats           `json:"backends"`
	Memory      memoryState         `json:"memory"` // for executors
	Limits      limitsState         `json:"limits"` // of tasks
	Executors   []executorState     `json:"executors,omitempty"`
	Grants      grants.Stats        `json:"grants"`
}

// memoryState is in MB.
type memoryState struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
}

// executorState is an executor of an application, or one that ended lately.
type executorState struct {
	App string `json:"app"`
	api.ExecutorState
	Attached bool `json:"attached"` // it takes grants
}

// state returns what /status shows.
func (n *NodeMonitor) state(ctx context.Context) (any, error) {
	mailbox := daemon.Mailbox{Name: fmt.Sprintf("node %q", n.cfg.ID), Post: func(do func()) error { return n.loop.Post(event{do: do}) }}
	s, err := daemon.Ask(ctx, mailbox, "showing its status", n.currentState)
	if !access.CanAll(ctx, access.SeeJob) {
		for i := range s.Executors {
			s.Executors[i].Reason = "" // it may quote arguments and outputs
		}
	}
	return s, err
}

// currentState runs on the owner goroutine.
func (n *NodeMonitor) currentState() state {
	o, apps := n.owner, n.backends.Applications()
	s := state{
		Node: n.cfg.ID, Policy: o.policy.Name, Group: n.cfg.Group, Incarnation: n.self.Incarnation, Address: n.self.Address, Master: n.cfg.Master,
		Standing: n.registration.Status(), State: n.drainState(), NATS: n.notices != nil && n.notices.conn.Connected(), Serves: o.workers.Serves(), Slots: o.workers.Status(),
		Backends: n.backends.BackendStats(), Grants: apps.Grants().Stats(), Frontends: o.results.Frontends(),
	}
	held := apps.Held()
	s.Memory, s.Limits = memoryState{held.Memory, held.Used}, n.limitsState()
	for i := range held.Applications {
		for _, x := range held.Applications[i].Executors {
			s.Executors = append(s.Executors, executorState{held.Applications[i].ID, x.State, x.Attached})
		}
	}
	s.Epoch, _ = o.workers.Epoch()
	s.Kept, s.KeptBytes = o.results.Kept()
	return s
}

// readiness returns why the node is not ready, nil when it is.
func (n *NodeMonitor) readiness() error {
	if s := n.registration.Status(); s.Problem != "" {
		return fmt.Errorf("node %q: %s", n.cfg.ID, s.Problem)
	}
	return nil
}
