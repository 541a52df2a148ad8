package guard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// input waits for the next Input event.
func (r *run) input() InputState {
	r.t.Helper()
	e := r.next()
	if e.Kind != Input {
		r.t.Fatalf("got event %d (%+v), want one of its input", e.Kind, e)
	}
	return e.Input
}

// A process gets its input as it is, and reads end-of-file when the input ends, not before. A
// piece that does not begin where the input has got to is not taken.
func TestInput(t *testing.T) {
	s := Spec{Argv: []string{"cat"}, Stdin: true, Limit: 1 << 20, Stdout: filepath.Join(t.TempDir(), "out")}
	c := client(t)
	r := start(t, c, s)
	pid := r.pid()
	text := bytes.Repeat([]byte{0, 1, '\n', 0xff}, 50_000) // more than a pipe has room for
	at := 0
	for _, n := range []int{0, 1, 99_999, 70_000} {
		c.Feed(r.handle, int64(at), text[at:at+n], false)
		at += n
		if got := r.input(); got != (InputState{Taken: int64(at)}) {
			t.Fatalf("after %d bytes: %+v", at, got)
		}
	}
	for _, wrong := range []int64{0, int64(at) - 1, int64(at) + 1} {
		c.Feed(r.handle, wrong, []byte("again"), true)
		if got := r.input(); got != (InputState{Taken: int64(at)}) {
			t.Errorf("a piece at %d: %+v", wrong, got)
		}
	}
	if state(pid) == "" {
		t.Fatal("it has ended before its input")
	}
	c.Feed(r.handle, int64(at), text[at:], true)
	if got := r.input(); got != (InputState{Taken: int64(len(text)), Closed: true}) {
		t.Errorf("at the end: %+v", got)
	}
	e := r.end()
	out, err := os.ReadFile(s.Stdout)
	if err != nil || e.Status.ExitStatus() != 0 || !bytes.Equal(out, text) {
		t.Errorf("ended as %+v with %d bytes of %d, %v", e, len(out), len(text), err)
	}
}

// Input without a byte is an end-of-file; a process without input has /dev/null.
func TestEmptyInput(t *testing.T) {
	c := client(t)
	s := shell("cat; exit 7")
	if e := start(t, c, s).end(); e.Status.ExitStatus() != 7 {
		t.Errorf("without: %+v", e)
	}
	s.Stdin = true
	r := start(t, c, s)
	r.pid()
	c.Feed(r.handle, 0, nil, true)
	if got := r.input(); !got.Closed {
		t.Errorf("%+v", got)
	}
	if e := r.end(); e.Status.ExitStatus() != 7 {
		t.Errorf("%+v", e)
	}
}

// A process that closes its input continues, and one that never reads it blocks nothing but its
// input.
func TestInputThatIsNotRead(t *testing.T) {
	dir := t.TempDir()
	s := shell("exec 0<&-; echo $$ > pids; exec sleep 600")
	s.Stdin, s.Dir = true, dir
	c := client(t)
	closed := start(t, c, s)
	closed.pid()
	readPids(t, dir+"/pids", 1)
	c.Feed(closed.handle, 0, []byte("x"), false)
	if got := closed.input(); !got.Closed {
		t.Errorf("%+v", got)
	}
	s = shell("exec sleep 600")
	s.Stdin = true
	silent := start(t, c, s)
	silent.pid()
	c.Feed(silent.handle, 0, make([]byte, 1<<20), false)
	c.Feed(silent.handle, 1<<20, []byte("more"), false)
	if got := silent.input(); got != (InputState{Taken: 1 << 20, Writing: true}) {
		t.Errorf("while the first piece is being written: %+v", got)
	}
	for _, r := range []*run{closed, silent} {
		c.Kill(r.handle, time.Minute)
		if e := r.end(); !e.Killed {
			t.Errorf("ended as %+v", e)
		}
	}
}

// The next client of the guard continues where the last one was; between them the process reads
// no end-of-file.
func TestInputAfterASuccession(t *testing.T) {
	folder := t.TempDir()
	first := New(options(folder, time.Minute))
	s := Spec{Argv: []string{"cat"}, Stdin: true, Limit: 1 << 20, Stdout: filepath.Join(folder, "out"), Note: []byte("cat")}
	r := start(t, first, s)
	r.pid()
	first.Feed(r.handle, 0, []byte("one "), false)
	r.input()
	first.Leave()
	c, a := adopt(t, folder)
	if len(a.Held) != 1 || a.Held[0].Input != (InputState{Taken: 4}) || a.Held[0].End != nil {
		t.Fatalf("the guard has kept %+v", a.Held)
	}
	r = claim(t, c, a.Held[0])
	c.Follow(a)
	c.Feed(r.handle, 4, []byte("two"), true)
	if e := r.end(); e.Status.ExitStatus() != 0 {
		t.Errorf("ended as %+v", e)
	}
	if out, err := os.ReadFile(s.Stdout); string(out) != "one two" {
		t.Errorf("%q, %v", out, err)
	}
}
