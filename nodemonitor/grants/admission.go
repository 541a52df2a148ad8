package grants

import "github.com/pigeon-sched/pigeon/internal/sched"

// Admit adds an executor that was started, which may attach with the token.
func (t *Table) Admit(app, executorID, token string) {
	t.update(func(*ends) {
		a := t.assignments.apps[app]
		if a == nil {
			a = &application{id: app, executors: map[string]*executor{}}
			t.assignments.apps[app] = a
		}
		a.executors[executorID] = &executor{id: executorID, token: token, held: map[sched.AttemptID]*grant{}, wake: make(chan struct{})}
	})
}

// Remove removes an executor that has ended; its grants end with the reason. Grants that
// had not reached it are assigned to another executor.
func (t *Table) Remove(app, executorID, reason string) {
	t.update(func(e *ends) {
		if a := t.assignments.apps[app]; a != nil && a.executors[executorID] != nil {
			t.assignments.remove(e, a, a.executors[executorID], reason)
		}
	})
}

// Forget removes an application that is over: its executors have ended, and grants that
// still arrive have no receiver.
func (t *Table) Forget(app string) {
	t.update(func(e *ends) {
		if a := t.assignments.apps[app]; a != nil {
			t.assignments.forget(e, a)
		}
	})
}
