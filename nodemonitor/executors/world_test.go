package executors_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a manager with real processes, and a frontend that has the files of
// content.
type world struct {
	*executors.Manager
	t      *testing.T
	cfg    executors.Config
	table  *grants.Table
	holds  *grants.Holds
	orders int64
}

func newWorld(t *testing.T, change ...func(*executors.Config)) *world {
	t.Helper()
	w := &world{t: t, table: grants.New(grants.Config{Node: "n1"}), holds: grants.NewHolds("n1", func() {})}
	dir := t.TempDir()
	store, err := filestore.Open(filepath.Join(dir, "files"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(guard.Options{})
	w.cfg = executors.Config{
		Node: "n1", Incarnation: 7, Host: "host1", Address: "127.0.0.1:20501", Web: "http://127.0.0.1:8080", Folder: filepath.Join(dir, "applications"),
		Slots: 4, Memory: 1000, Grace: time.Second, Guard: g, Accounts: accounts.Own(), Files: store, Table: w.table, Holds: w.holds,
		Fetch: func(string) (wire.FileKeeper, error) { return oneFile(content), nil },
	}
	for _, c := range change {
		c(&w.cfg)
	}
	if w.Manager, err = executors.New(w.cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); w.table.Close(); w.holds.Close(); g.Close(0) })
	return w
}

const content = "what the file holds\n"

// oneFile returns its bytes for every file, three at a time.
type oneFile string

func (f oneFile) FilePiece(_ context.Context, _ string, offset int64, _ int) (wire.Piece, error) {
	to := min(offset+3, int64(len(f)))
	return wire.Piece{Data: []byte(f[min(offset, to):to]), Size: int64(len(f))}, nil
}

func theFile() api.File {
	sum := sha256.Sum256([]byte(content))
	return api.File{Name: "f.txt", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// shell is an application whose executors run a script.
func shell(id, script string) api.Application {
	return api.Application{ID: id, Incarnation: 1, Grants: true, Template: api.Template{Argv: []string{"sh", "-c", script}, Memory: 100}}
}

// order orders that these executors run, for the frontend "f1".
func (w *world) order(a api.Application, executors ...string) {
	w.t.Helper()
	w.orders++
	r, err := w.OrderExecutors(w.t.Context(), &wire.Order{Frontend: "f1", Address: "f1:1", Tenure: 1, Sequence: w.orders, Application: a, Executors: executors})
	if err != nil || !r.Accepted {
		w.t.Fatalf("%+v, %v", r, err)
	}
}

// await waits until the holdings are as they should be.
func (w *world) await(what string, holds func(h wire.Holdings) bool) wire.Holdings {
	w.t.Helper()
	var h wire.Holdings
	await.Until(w.t, what, func() bool {
		h = w.Held()
		return holds(h)
	}, func() string { return fmt.Sprintf("holdings %+v", h) })
	return h
}

// state returns an executor, without a state when it is not held.
func state(h wire.Holdings, app, id string) (x wire.HeldExecutor) {
	for _, a := range h.Applications {
		for _, e := range a.Executors {
			if a.ID == app && e.State.ID == id {
				x = e
			}
		}
	}
	return x
}

// awaitState waits until an executor is in the state.
func (w *world) awaitState(app, id, want string) wire.HeldExecutor {
	w.t.Helper()
	h := w.await("executor "+id+" of "+app+" is "+want, func(h wire.Holdings) bool { return state(h, app, id).State.State == want })
	return state(h, app, id)
}

// log reads an output as a browser of the node monitor's own user does.
func (w *world) log(path string) (status int, text string) { return w.logAs(identity.Self(), path) }

// logAs reads an output as the browser of a principal does.
func (w *world) logAs(p identity.Principal, path string) (status int, text string) {
	r := httptest.NewRecorder()
	ask := httptest.NewRequest(http.MethodGet, path, nil)
	w.Logs().ServeHTTP(r, ask.WithContext(identity.With(ask.Context(), p)))
	return r.Code, r.Body.String()
}
