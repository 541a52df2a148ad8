package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// boot registers workers with masters and masters with distributors, and sends the
// membership to the cores that address workers themselves. All of this happens at time
// 0, without delay, and before messages are counted.
func (e *engine) boot() {
	delay := e.cfg.Delay
	e.cfg.Delay = 0
	builtIn := []string{""}
	shell := sched.Addr{}
	if shares := e.cfg.setShares(); shares != nil {
		for g := range e.cores[sched.Master] {
			e.deliver(shell, sched.Addr{Role: sched.Master, ID: int32(g)}, shares)
		}
	}
	names := e.nodeNames()
	for i, g := range e.group {
		if e.cfg.Policy.NewMaster == nil {
			break
		}
		up := sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: int32(i)}, Node: names[i], Serves: builtIn}
		e.deliver(shell, sched.Addr{Role: sched.Master, ID: g}, &up)
	}
	for e.mail.size > 0 {
		e.deliverMail()
	}
	for d := range e.cores[sched.Distributor] {
		for g := range e.cores[sched.Master] {
			up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(g)}, Serves: e.view(g).Serves()}
			e.deliver(shell, sched.Addr{Role: sched.Distributor, ID: int32(d)}, &up)
		}
	}
	e.announceMasters()
	e.announceWorkers()
	for e.mail.size > 0 {
		e.deliverMail()
	}
	e.cfg.Delay = delay
	e.counting = true
}

// announceMasters makes the masters known to each other under policies whose masters
// exchange tasks.
func (e *engine) announceMasters() {
	if !e.cfg.Policy.CrossGroup {
		return
	}
	for self := range e.cores[sched.Master] {
		for other := range e.cores[sched.Master] {
			if other != self {
				up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(other)}, Serves: []string{""}}
				e.deliver(sched.Addr{}, sched.Addr{Role: sched.Master, ID: int32(self)}, &up)
			}
		}
	}
}

// announceWorkers sends one list of all workers to the cores that address workers
// themselves.
func (e *engine) announceWorkers() {
	p := &e.cfg.Policy
	if p.NewMaster != nil && !p.Central {
		return
	}
	members := make([]sched.Member, len(e.group))
	for i, g := range e.group {
		members[i].Worker = sched.Addr{Role: sched.Worker, ID: int32(i)}
		if p.NewMaster != nil {
			members[i].Master = sched.Addr{Role: sched.Master, ID: g}
		}
	}
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: members}}
	told := []sched.Role{sched.Distributor}
	if p.PeerAware {
		told = append(told, sched.Worker)
	}
	for _, role := range told {
		for id := range e.cores[role] {
			e.deliver(sched.Addr{}, sched.Addr{Role: role, ID: int32(id)}, &m)
		}
	}
}
