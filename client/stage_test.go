package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// taker is a frontend's process that takes files, until it has forgotten them.
type taker struct {
	wire.Scheduler // nil: the other methods

	mu     sync.Mutex
	files  map[string][]byte
	asked  int
	refuse error // of every announcement; nil: none
}

func (k *taker) StageFiles(_ context.Context, files []api.StagedFile) ([]int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	have := make([]int64, len(files))
	for i := range files {
		have[i] = int64(len(k.files[files[i].SHA256]))
	}
	k.asked++
	return have, k.refuse
}

func (k *taker) StagePiece(_ context.Context, sum string, offset int64, data []byte) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if offset == int64(len(k.files[sum])) {
		k.files[sum] = append(k.files[sum], data...)
	}
	return int64(len(k.files[sum])), nil
}

// takes makes a process one that takes files.
func (k *taker) takes(p *process) *process {
	k.files = map[string][]byte{}
	p.Scheduler = k
	return p
}

// staged is a job with one file of more than a piece, and where that is.
func staged(t *testing.T, key string) (r *api.Request, content []byte, paths map[string]string) {
	t.Helper()
	content = []byte(strings.Repeat("0123456789abcdef", api.MaxPiece/16+1))
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(content)
	sum := hex.EncodeToString(h[:])
	r = request(key)
	r.Stage = []api.StagedFile{{Name: "data", SHA256: sum, Size: int64(len(content))}, {Name: "copy", SHA256: sum, Size: int64(len(content))}}
	return r, content, map[string]string{sum: path}
}

// The files go to the frontend that gets the job, each content once; one that has lost them gets
// them again.
func TestFilesGoBeforeTheirJob(t *testing.T) {
	r, content, paths := staged(t, "1")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, _ := w.client("a:1", "b:1")
		k := &taker{}
		f := newJournal("f1")
		lost := true
		w.start("b:1", k.takes(&process{journal: f, submit: func(accept func() (string, bool, error)) (string, bool, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if lost { // it was started again after the files had arrived
				lost, k.files = false, map[string][]byte{}
				return "", false, &api.Error{Problem: api.NotReady, What: "a file has not arrived"}
			}
			return accept()
		}}))
		j, _, err := c.SubmitKeyed(t.Context(), r, true, paths)
		if err != nil || j.Frontend().Address != "b:1" || f.jobs["1"] != 1 {
			t.Fatalf("%+v, %v", j, err)
		}
		if got := k.files[r.Stage[0].SHA256]; string(got) != string(content) || k.asked != 2 {
			t.Errorf("%d bytes have arrived of %d, announced %d times", len(got), len(content), k.asked)
		}
	})
}

// What a frontend refuses of the files is the answer, and a file that has become shorter is not
// sent: nothing is submitted.
func TestFilesThatAreNotSent(t *testing.T) {
	r, _, paths := staged(t, "1")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, _ := w.client("a:1")
		f, k := newJournal("f0"), &taker{refuse: &api.Error{Problem: api.Invalid, What: "too many bytes"}}
		w.start("a:1", k.takes(&process{journal: f}))
		_, _, err := c.SubmitKeyed(t.Context(), r, true, paths)
		if err == nil || !strings.Contains(err.Error(), "too many bytes") {
			t.Errorf("%v", err)
		}
		k.refuse = nil
		for _, path := range paths {
			if err := os.Truncate(path, 5); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err = c.SubmitKeyed(t.Context(), r, true, paths)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(err.Error(), "it ends after 5 bytes") {
			t.Errorf("%v", err)
		}
		if f.has("1") {
			t.Error("the job was submitted without its files")
		}
	})
}
