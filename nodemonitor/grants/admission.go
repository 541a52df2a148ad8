package grants

import "github.com/pigeon-sched/pigeon/internal/sched"

// Admit adds an executor that was started, which may attach with the token.
func (t *Table) Admit(app, executorID, token string) {
	t.update(func(*ends) {
		a := t.apps[app]
		if a == nil {
			a = &application{id: app, executors: map[string]*executor{}}
			t.apps[app] = a
		}
		a.executors[executorID] = &executor{id: executorID, token: token, held: map[sched.AttemptID]*grant{}, wake: make(chan struct{})}
	})
}

// Remove removes an executor that has ended; its grants end with the reason. Those that
// had not reached it are assigned to another.
func (t *Table) Remove(app, executorID, reason string) {
	t.update(func(e *ends) {
		a := t.apps[app]
		if a == nil || a.executors[executorID] == nil {
			return
		}
		x := a.executors[executorID]
		delete(a.executors, executorID)
		x.wakeUp()
		for _, g := range x.inOrder() {
			if g.answered {
				t.stats.Failed++
				t.end(e, g, sched.Failed, t.reason(&g.task, "its executor "+executorID+" ended: "+reason, "nothing; the application asks for another"))
				continue
			}
			g.executor = nil
			a.waiting = append(a.waiting, g)
		}
		t.assign(a)
	})
}

// Forget removes an application that is over: its executors have ended, and grants that
// still come have no receiver.
func (t *Table) Forget(app string) {
	t.update(func(e *ends) {
		a := t.apps[app]
		if a == nil {
			return
		}
		for _, x := range a.executors {
			x.wakeUp()
			a.waiting = append(a.waiting, x.inOrder()...)
		}
		for _, g := range a.waiting {
			t.end(e, g, sched.Failed, t.reason(&g.task, "its application is over", "nothing"))
		}
		delete(t.apps, app)
	})
}
