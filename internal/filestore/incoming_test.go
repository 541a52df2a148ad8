package filestore_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
)

// receive returns what receives a content.
func receive(t *testing.T, s *filestore.Store, f api.File) *filestore.Incoming {
	t.Helper()
	in, err := s.Receive(f)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Two senders of one content do not touch each other's parts: what one sends wrong, or leaves
// unfinished, the other does not notice, and each has arrived with its own last byte.
func TestIncomingOfTwoSenders(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	f := file("content")
	wrong, right, late := receive(t, s, f), receive(t, s, f), receive(t, s, f)
	if n, err := wrong.Put(0, []byte("CONT")); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	if n, err := right.Put(0, []byte("cont")); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	if n, err := right.Put(0, []byte("cont")); err != nil || n != 4 {
		t.Errorf("a repetition: %d, %v", n, err)
	}
	if n, err := right.Put(4, []byte("ent")); err != nil || n != 7 || !right.Arrived() || !s.Has(f.SHA256) {
		t.Fatal(n, err, right.Arrived(), s.Has(f.SHA256))
	}
	if late.Arrived() || wrong.Arrived() {
		t.Error("a file has arrived from who has not sent it")
	}
	n, err := wrong.Put(4, []byte("ENT"))
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || n != 0 || wrong.Arrived() {
		t.Errorf("the wrong content: %d, %v, arrived %v", n, err, wrong.Arrived())
	}
	if data, _, err := s.Read(f.SHA256, 0, 100); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	for _, in := range []*filestore.Incoming{wrong, late, late} {
		if err := in.Drop(); err != nil {
			t.Error(err)
		}
	}
	if n, err := late.Put(0, []byte("content")); err != nil || late.Arrived() {
		t.Errorf("a dropped one took %d, %v", n, err)
	}
	if list, err := os.ReadDir(root); err != nil || len(list) != 1 {
		t.Errorf("%v is left, %v", list, err)
	}
}

// Files on their way count as files do, and their room is given back.
func TestIncomingTakesRoom(t *testing.T) {
	s := open(t, t.TempDir()) // of 1,000 bytes
	big := file(strings.Repeat("a", 600))
	in := receive(t, s, big)
	if _, err := s.Receive(file(strings.Repeat("b", 401))); err == nil || !strings.Contains(err.Error(), "more than the limit of 1000") {
		t.Errorf("%v", err)
	}
	if _, err := in.Put(0, make([]byte, 601)); err == nil || !strings.Contains(err.Error(), "beyond the 600 bytes") {
		t.Errorf("%v", err)
	}
	if err := in.Drop(); err != nil {
		t.Fatal(err)
	}
	again := receive(t, s, big)
	if n, err := again.Put(0, []byte(strings.Repeat("a", 600))); err != nil || n != 600 {
		t.Fatal(n, err)
	}
	empty := receive(t, s, file(""))
	if _, err := empty.Put(0, nil); err != nil || !empty.Arrived() || !s.Has(file("").SHA256) {
		t.Errorf("an empty file: %v", err)
	}
	if err := s.Retain(func(sha string) bool { return sha != big.SHA256 }); err != nil || s.Has(big.SHA256) || !s.Has(file("").SHA256) {
		t.Errorf("%v; %v, %v", err, s.Has(big.SHA256), s.Has(file("").SHA256))
	}
	receive(t, s, file(strings.Repeat("c", 1000)))
}

// A part that its process left is gone after the next start.
func TestIncomingPartsGoWithTheirProcess(t *testing.T) {
	root := t.TempDir()
	in := receive(t, open(t, root), file("content"))
	if _, err := in.Put(0, []byte("cont")); err != nil {
		t.Fatal(err)
	}
	open(t, root)
	if list, err := os.ReadDir(root); err != nil || len(list) != 0 {
		t.Errorf("%v is left, %v", list, err)
	}
}
