package executors

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// While a disk hangs from which the folders of executors are to be removed, their ends are reported, and those of
// other processes; the node can drain. An application that is over is forgotten when its folders are removed.
func TestEndsWhileADiskHangs(t *testing.T) {
	dir, gate := t.TempDir(), make(chan struct{})
	store, err := filestore.Open(filepath.Join(dir, "files"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	g, table, holds := guard.New(guard.Options{}), grants.New(grants.Config{Node: "n1"}), grants.NewHolds("n1", func() {})
	m, err := New(Config{
		Node: "n1", Host: "host1", Folder: filepath.Join(dir, "applications"), Slots: 4, Memory: 1000, Guard: g, Accounts: accounts.Own(), Files: store,
		Table: table, Holds: holds,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.folders.rename = func(from, to string) error { <-gate; return os.Rename(from, to) }
	answer := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(func() { answer(); m.Close(); table.Close(); holds.Close(); g.Close(0) })

	order := wire.Order{Frontend: "f1", Tenure: 1, Application: api.Application{ID: "app", Grants: true, Template: api.Template{Argv: []string{"true"}, Memory: 100}}, Executors: []string{"1", "2"}}
	if r, err := m.OrderExecutors(t.Context(), &order); err != nil || !r.Accepted {
		t.Fatalf("%+v, %v", r, err)
	}
	await.Until(t, "both have ended", func() bool {
		h := m.Held()
		list := h.Applications[0].Executors
		return len(list) == 2 && list[0].State.State == api.ExecutorExited && list[1].State.State == api.ExecutorExited
	})
	ended := make(chan guard.Event, 2)
	if _, err := g.Start(guard.Spec{Argv: []string{"true"}, Dir: dir}, func(e guard.Event) { ended <- e }); err != nil {
		t.Fatal(err)
	}
	<-ended
	if e := <-ended; e.Kind != guard.Ended {
		t.Errorf("%+v", e)
	}
	m.Drain("it drains")
	order.Sequence, order.Over = 1, true
	if r, err := m.OrderExecutors(t.Context(), &order); err != nil || !r.Accepted {
		t.Fatalf("%+v, %v", r, err)
	}
	if h := m.Held(); len(h.Applications) != 1 {
		t.Errorf("it could be ordered again, in the same folders: %+v", h)
	}
	m.patience, m.cfg.Grace = time.Millisecond, 0
	m.Close() // it does not wait for that disk
	answer()
	await.Until(t, "the application is forgotten", func() bool { return len(m.Held().Applications) == 0 })
	if _, err := os.Lstat(filepath.Join(dir, "applications", "app")); err == nil {
		t.Error("its folder stays")
	}
	m.folders.work.Wait() // what it left is still being moved
}
