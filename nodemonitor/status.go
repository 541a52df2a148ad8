package nodemonitor

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
)

// state is what /status shows.
type state struct {
	Node        string             `json:"node"`
	Policy      string             `json:"policy"`
	Group       int                `json:"group"`
	Incarnation int64              `json:"incarnation"`
	Address     string             `json:"address"`
	Master      string             `json:"master"`
	Standing    standing           `json:"standing"`
	NATS        bool               `json:"nats"` // connected
	Epoch       uint64             `json:"epoch"`
	Serves      []string           `json:"serves"`
	Slots       []slotState        `json:"slots"`
	Kept        int                `json:"kept_results"`
	KeptBytes   int64              `json:"kept_result_bytes"`
	Frontends   []results.Frontend `json:"frontends"`
	Backends    app.Stats          `json:"backends"`
	Memory      memoryState        `json:"memory"` // for executors
	Executors   []executorState    `json:"executors,omitempty"`
	Grants      grants.Stats       `json:"grants"`
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

// slotState is a worker: one slot, under Kairos several.
type slotState struct {
	Slot     int32       `json:"slot"`
	Worker   *int32      `json:"worker,omitempty"` // its number in the cluster, where it has one
	Seq      uint64      `json:"seq"`
	Reserved bool        `json:"reserved"`
	App      string      `json:"app,omitempty"` // of a classic backend
	Job      string      `json:"job,omitempty"` // of what runs
	Task     int32       `json:"task,omitempty"`
	Attempt  int32       `json:"attempt,omitempty"` // 0: idle
	Held     []heldState `json:"held,omitempty"`    // beside it
}

type heldState struct {
	Job     string `json:"job"`
	Task    int32  `json:"task"`
	Attempt int32  `json:"attempt"`
	State   string `json:"state"`
}

// state draws what /status shows, on the owner goroutine.
func (n *NodeMonitor) state(ctx context.Context) (any, error) {
	drawn := make(chan state, 1)
	if err := n.loop.Post(event{do: func() { drawn <- n.draw() }}); err != nil {
		return nil, err
	}
	select {
	case s := <-drawn:
		return s, nil
	case <-ctx.Done():
		return nil, errors.New("the node monitor does not answer; it may not have been run yet")
	}
}

func (n *NodeMonitor) draw() state {
	o := n.owner
	s := state{
		Node: n.cfg.ID, Policy: o.rules.name, Group: n.cfg.Group, Incarnation: n.incarnation, Address: o.address, Master: n.cfg.Master,
		Standing: *n.member.standing.Load(), NATS: n.notices != nil && n.notices.conn.Connected(), Epoch: o.epoch, Serves: o.serves,
		Backends: n.equipment.registry.Stats(),
	}
	held := n.applications.keeper.Look()
	s.Grants, s.Memory = n.applications.table.Stats(), memoryState{held.Memory, held.Used}
	for i := range held.Applications {
		for _, x := range held.Applications[i].Executors {
			s.Executors = append(s.Executors, executorState{held.Applications[i].ID, x.State, x.Attached})
		}
	}
	for _, w := range o.live() {
		s.Slots = append(s.Slots, o.drawWorker(w))
	}
	s.Kept, s.KeptBytes = o.results.Kept()
	s.Frontends = o.results.Frontends()
	return s
}

// maxDrawn bounds the attempts shown beside the one that runs in a slot.
const maxDrawn = 100

func (o *owner) drawWorker(w *worker) slotState {
	v := slotState{Slot: w.number, Seq: w.seq(), Reserved: w.reserved(), App: w.app}
	if o.rules.numbered && w.core != nil {
		number := w.self.ID // the page is drawn later, by another goroutine
		v.Worker = &number
	}
	first := w.runningNow()
	if first != nil {
		v.Job, v.Task, v.Attempt = first.JobName, first.id.Task, first.id.Attempt
	}
	for _, a := range w.attempts {
		if a != first && len(v.Held) < maxDrawn {
			v.Held = append(v.Held, heldState{a.JobName, a.id.Task, a.id.Attempt, a.phase.String()})
		}
	}
	return v
}
