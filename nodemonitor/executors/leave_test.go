package executors

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// heldTable is a table whose executors hold so many grants. It counts the looks at them. The lock of
// the manager guards it.
type heldTable struct {
	Table
	held, looks int
}

func (t *heldTable) Attached(string, string) (bool, int) {
	t.looks++
	return true, t.held
}

// leaving calls test with a draining manager that has an executor, and with a function that orders
// these executors from it.
func leaving(t *testing.T, test func(m *Manager, x *executor, table *heldTable, order func(ids ...string))) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		table := &heldTable{held: 1}
		m := &Manager{cfg: Config{Table: table, Logger: slog.New(slog.DiscardHandler)}, apps: applications{}, draining: "it drains", wake: make(chan struct{})}
		a := &application{Application: api.Application{ID: "a"}, known: map[string]bool{"1": true}}
		x := &executor{app: a, id: "1", cancel: func() {}}
		a.executors = map[string]*executor{"1": x}
		m.apps[a.ID] = a
		test(m, x, table, func(ids ...string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.follow(a, &wire.Order{Frontend: "f", Tenure: 1, Application: a.Application, Executors: ids})
		})
	})
}

// after returns why the executor is stopped, "" while it is not, and how often it was looked at, when
// it holds so many grants for a time.
func after(m *Manager, x *executor, table *heldTable, held int, d time.Duration) (stopping string, looks int) {
	m.mu.Lock()
	table.held, table.looks = held, 0
	m.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return x.stopping, table.looks
}

// An executor of a draining node that is not wanted any more is looked at as often after many orders
// as after one, and ends with its last grant.
func TestLeaveOrderedOftenIsOneLook(t *testing.T) {
	leaving(t, func(m *Manager, x *executor, table *heldTable, order func(...string)) {
		for range 100 {
			order()
		}
		if stopping, looks := after(m, x, table, 1, leaveEvery); looks != 1 || stopping != "" {
			t.Errorf("after %d looks: %q", looks, stopping)
		}
		if stopping, _ := after(m, x, table, 0, leaveEvery); stopping == "" {
			t.Error("it holds nothing any more, and has not been stopped")
		}
	})
}

// An executor that was to leave and is wanted again, such as by the frontend that takes its
// application over, stays when its last grant ends.
func TestStayAfterAnotherOrder(t *testing.T) {
	leaving(t, func(m *Manager, x *executor, table *heldTable, order func(...string)) {
		order()
		order("1")
		if stopping, looks := after(m, x, table, 0, 10*leaveEvery); stopping != "" || looks != 0 {
			t.Errorf("it was looked at %d times, and stopped: %q", looks, stopping)
		}
	})
}
