package staging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// fakeReplica is contents in memory. It stands for servers on other machines, which may hang or
// refuse (Objects is tested with real ones).
type fakeReplica struct {
	mu       sync.Mutex
	contents map[string]string
	fault    error         // of every call
	hangs    chan struct{} // not nil: Save waits for it
	saves    int
}

func (r *fakeReplica) Save(ctx context.Context, sha string, content io.Reader) error {
	r.mu.Lock()
	hangs := r.hangs
	r.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	text, err := io.ReadAll(content)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil || err != nil {
		return errors.Join(r.fault, err)
	}
	if _, saved := r.contents[sha]; !saved {
		r.saves++
		r.contents[sha] = string(text)
	}
	return nil
}

func (r *fakeReplica) Load(_ context.Context, sha string) (io.ReadCloser, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, found := r.contents[sha]
	if !found || r.fault != nil {
		return nil, 0, errors.Join(r.fault, fmt.Errorf("%w: %s", fs.ErrNotExist, sha))
	}
	return io.NopCloser(bytes.NewReader([]byte(text))), int64(len(text)), nil
}

func (r *fakeReplica) Retain(_ context.Context, used func(string) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sha := range r.contents {
		if !used(sha) {
			delete(r.contents, sha)
		}
	}
	return r.fault
}

// newReplicated returns a keeper with a replica.
func newReplicated(t *testing.T) (*world, *fakeReplica) {
	w, r := newWorld(t), &fakeReplica{contents: map[string]string{}}
	w.cfg.Replica = r
	w.restart()
	return w, r
}

// A job is not accepted before its files are in the replica; a content is saved once, and removed
// when no job needs it.
func TestHeldWhenSaved(t *testing.T) {
	w, r := newReplicated(t)
	list := w.send("ann", "one", "two", "")
	h, err := w.Hold(t.Context(), "ann", list)
	if err != nil || len(r.contents) != 3 || r.contents[list[0].SHA256] != "one" {
		t.Fatalf("%v with the contents %q", err, r.contents)
	}
	again, err := w.Hold(t.Context(), "ann", list)
	if err != nil || r.saves != 3 {
		t.Errorf("%d contents were saved, want 3; %v", r.saves, err)
	}
	h.Release()
	again.Release()
	w.later(unused)
	if w.Sweep(); len(r.contents) != 0 || w.kept() != 0 {
		t.Errorf("%d contents are in the replica and %d here after the end of the jobs", len(r.contents), w.kept())
	}
}

// Servers that hang or refuse delay submissions, with the reason, and nothing else.
func TestReplicaThatFails(t *testing.T) {
	w, r := newReplicated(t)
	list := w.send("ann", "one")
	h, err := w.Hold(t.Context(), "ann", list)
	if err != nil {
		t.Fatal(err)
	}
	r.fault = errors.New("no space left at the servers")
	if _, err := w.Hold(t.Context(), "ann", list); problem(err) != api.NotReady || !strings.Contains(err.Error(), `"f0" could not be copied to the NATS servers: no space left`) {
		t.Errorf("servers without space: %v", err)
	}
	r.fault = nil
	release := make(chan struct{})
	r.mu.Lock()
	r.hangs = release
	r.mu.Unlock()
	late, end := context.WithCancel(t.Context())
	end()
	if _, err := w.Hold(late, "ann", w.send("ann", "two")); problem(err) != api.Busy || !strings.Contains(err.Error(), "still being copied") {
		t.Errorf("servers that hang: %v", err)
	}
	close(release)
	if _, err := w.Hold(t.Context(), "ann", w.send("ann", "two")); err != nil {
		t.Errorf("when they answer again: %v", err)
	}
	h.Release()
}

// A process on another machine fetches what the jobs of the journal need when a node asks for it.
func TestFetchedFromTheReplica(t *testing.T) {
	w, r := newReplicated(t)
	list := w.send("ann", "one")
	if _, err := w.Hold(t.Context(), "ann", list); err != nil {
		t.Fatal(err)
	}
	w.cfg.Folder = t.TempDir() // of another machine
	w.restart()
	w.Restore(sched.NewJobID("f", "one"), "ann", list)
	missing := of("missing", "never saved")
	w.Restore(sched.NewJobID("f", "two"), "ann", []api.StagedFile{missing})
	if data, size, here, err := w.Piece(list[0].SHA256, 0, 100); string(data) != "one" || size != 3 || !here || err != nil {
		t.Errorf("%q of %d bytes, %v, %v", data, size, here, err)
	}
	if _, _, here, err := w.Piece(missing.SHA256, 0, 100); !here || problem(err) != api.NotFound || !strings.Contains(err.Error(), "neither here nor at the NATS servers") {
		t.Errorf("a content that is nowhere: %v, %v", here, err)
	}
	r.mu.Lock()
	r.contents[missing.SHA256] = "other bytes"
	r.mu.Unlock()
	if _, _, _, err := w.Piece(missing.SHA256, 0, 100); problem(err) != api.NotReady {
		t.Errorf("a content that has another hash: %v", err)
	}
	if have, err := w.Announce("ann", true, list); err != nil || have[0] != 3 {
		t.Errorf("the user has sent %d bytes to the former process, %v", have, err)
	}
}

// Close ends what is under way.
func TestCloseEndsTransfers(t *testing.T) {
	w, r := newReplicated(t)
	r.hangs = make(chan struct{})
	list := w.send("ann", "one", "two", "more")
	held := make(chan error, 1)
	go func() {
		_, err := w.Hold(t.Context(), "ann", list)
		held <- err
	}()
	daemontest.Await(t, "the files are being saved", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.transfers) == 3
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-held; problem(err) != api.NotReady || !strings.Contains(err.Error(), "stopping") && !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%v", err)
	}
}
