package sim

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// deliver steps a core and carries out its actions.
func (e *engine) deliver(from, to sched.Addr, m *sched.Message) {
	if e.standbys != nil && e.standbys.drops(to, m) {
		return
	}
	e.out.Reset()
	e.cores[to.Role][to.ID].Step(e.now, from, m, &e.out)
	list := e.out.List()
	for i := range list {
		if e.actions != nil {
			fmt.Fprintf(e.actions, "%d %s: %s\n", e.now, to, sched.DescribeAction(&list[i]))
		}
		e.act(to, &list[i])
	}
	if e.waste.on {
		switch to.Role {
		case sched.Worker:
			e.follow(to, m)
		case sched.Master:
			e.watchWaste(to.ID)
		}
	}
	for len(e.stopped) > 0 {
		i := e.stopped[0]
		e.stopped = e.stopped[1:]
		e.finish(i, sched.Killed)
	}
}

// act carries out one action. Every action passes through it.
func (e *engine) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		if e.world != nil {
			e.world.sendFrom(self, a)
			return
		}
		e.send(self, a)
	case sched.Timer:
		at := a.At
		if e.world != nil {
			at = e.world.hosts.timerDue(self, at)
		}
		e.num++
		e.alarms.push(alarm{stamp: stamp{at, e.num}, core: self, token: a.Token, run: isTimer, version: e.lifeOf(self)})
	case sched.Start:
		e.start(self, &a.Msg)
	case sched.Suspend:
		e.suspend(self, &a.Msg)
	case sched.Resume:
		e.resume(self, &a.Msg)
	case sched.Stop:
		e.stop(self, &a.Msg)
	case sched.Persist:
		if e.world != nil {
			e.world.frontendShells.persistRecord(self, &a.Msg)
			return
		}
		e.persist(self, &a.Msg)
	case sched.Forget:
		if e.world != nil {
			e.world.forget(self, a.Msg.Job)
		}
	}
}

func (e *engine) send(self sched.Addr, a *sched.Action) {
	if a.To.ID == sched.Everyone {
		for id := range e.cores[a.To.Role] {
			if to := (sched.Addr{Role: a.To.Role, ID: int32(id)}); to != self {
				e.post(self, to, &a.Msg)
			}
		}
		return
	}
	e.post(self, a.To, &a.Msg)
}

func (e *engine) post(from, to sched.Addr, m *sched.Message) {
	e.num++
	p := e.mail.push()
	p.stamp, p.from, p.to, p.msg = stamp{e.now + e.cfg.Delay, e.num}, from, to, *m
	if e.counting {
		e.result.Messages += uint64(m.Tasks())
		e.result.Sent[from.Role] += uint64(m.Tasks())
	}
	if e.waste.on && m.Kind == sched.Launch {
		e.result.Groups[e.result.Jobs[e.jobIndex[m.Job]].FirstTask+int(m.First)] = from.ID
	}
	if e.cfg.Observer != nil && m.Kind == sched.Launch && !m.Companion {
		e.observe(m, m.First, "launched", from)
	}
}

// persist derives the outcome of jobs and tasks from what distributors persist.
func (e *engine) persist(self sched.Addr, m *sched.Message) {
	if e.learning != nil {
		e.learning.ended(e.now, int(self.ID), int(e.jobIndex[m.Job]), m)
	}
	switch m.Kind {
	case sched.TaskEnded:
		e.observe(m, m.First, "reported", self)
	case sched.JobEnded:
		i := e.jobIndex[m.Job]
		j := &e.result.Jobs[i]
		j.Ended, j.Completion = true, e.now-e.work[i].Arrival
		e.result.Makespan = e.now
		if m.Outcome == sched.Done {
			e.result.Completed++
			e.observe(m, -1, "completed", self)
		} else {
			e.result.Failed++
			e.observe(m, -1, "failed", self)
		}
	}
}

func (e *engine) observe(m *sched.Message, task int32, what string, where sched.Addr) {
	if e.cfg.Observer != nil {
		e.cfg.Observer.Event(e.now, int(e.jobIndex[m.Job]), task, m.Attempt, what, where)
	}
}
