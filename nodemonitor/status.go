package nodemonitor

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
)

// state is what /status shows.
type state struct {
	Node        string          `json:"node"`
	Group       int             `json:"group"`
	Incarnation int64           `json:"incarnation"`
	Address     string          `json:"address"`
	Master      string          `json:"master"`
	Standing    standing        `json:"standing"`
	NATS        bool            `json:"nats"` // connected
	Epoch       uint64          `json:"epoch"`
	Serves      []string        `json:"serves"`
	Slots       []slotState     `json:"slots"`
	Kept        int             `json:"kept_results"`
	KeptBytes   int64           `json:"kept_result_bytes"`
	Frontends   []frontendState `json:"frontends"`
	Backends    app.Stats       `json:"backends"`
}

type slotState struct {
	Slot     int32  `json:"slot"`
	Seq      uint64 `json:"seq"`
	Reserved bool   `json:"reserved"`
	App      string `json:"app,omitempty"` // of a classic backend
	Job      string `json:"job,omitempty"`
	Task     int32  `json:"task,omitempty"`
	Attempt  int32  `json:"attempt,omitempty"` // 0: idle
}

type frontendState struct {
	Frontend string `json:"frontend"`
	Address  string `json:"address"`
	Kept     int    `json:"kept_results"`
	Failures int    `json:"failures,omitempty"` // calls without an answer since the last good one
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
		Node: n.cfg.ID, Group: n.cfg.Group, Incarnation: n.incarnation, Address: o.address, Master: n.cfg.Master,
		Standing: *n.member.standing.Load(), NATS: n.notices != nil && n.notices.conn.Connected(), Epoch: o.epoch, Serves: o.serves,
		Kept: len(o.results.index), KeptBytes: o.results.bytes, Backends: n.equipment.registry.Stats(),
	}
	for _, l := range o.live() {
		v := slotState{Slot: l.number, Seq: l.core.Seq(), Reserved: l.core.Reserved(), App: l.app}
		if l.run != nil {
			v.Job, v.Task, v.Attempt = l.run.JobName, l.run.id.Task, l.run.id.Attempt
		}
		s.Slots = append(s.Slots, v)
	}
	for _, f := range o.frontends {
		s.Frontends = append(s.Frontends, frontendState{f.ref.Name, f.address, f.fresh.n + f.told.n, f.failures})
	}
	return s
}
