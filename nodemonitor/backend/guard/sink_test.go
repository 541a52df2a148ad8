package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// disk is a log file on a disk of the given size.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room-d.Len())
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) Close() error { return nil }

// TestSinkKeepsHeadAndTail checks every split of every stream: the first limit
// bytes are in the file, the last tailBytes in memory, and all are counted.
func TestSinkKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 3*tailBytes).Draw(t, "limit")
		d := &disk{room: rapid.IntRange(0, 1<<20).Draw(t, "room")}
		s := &sink{path: "x", limit: int64(limit), open: func(string) (io.WriteCloser, error) { return d, nil }}
		var all []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 2*tailBytes), 0, 12).Draw(t, "chunks") {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(rand.N(256))
			}
			all = append(all, p...)
			s.take(p)
		}
		kept := min(len(all), limit, d.room)
		out, tail := s.end()
		if out.Kept != int64(kept) || out.Dropped != int64(len(all)-kept) {
			t.Fatalf("of %d bytes reported %+v, want %d kept", len(all), out, kept)
		}
		if !bytes.Equal(d.Bytes()[:kept], all[:kept]) {
			t.Fatal("the file does not hold the head")
		}
		if want := all[max(len(all)-tailBytes, 0):]; !bytes.Equal(tail, want) {
			t.Fatalf("the tail has %d bytes or others than the last %d", len(tail), len(want))
		}
		if note := d.String()[kept:]; out.Dropped > 0 && out.Fault == "" && kept > 0 &&
			d.room > kept+200 && note != fmt.Sprintf("\n[pigeon: %d more bytes were dropped; %d are kept]\n", out.Dropped, out.Kept) {
			t.Fatalf("the last line is %q", note)
		}
		if fault := min(len(all), limit) > d.room; fault != (out.Fault != "") {
			t.Fatalf("fault %q with room for %d of %d", out.Fault, d.room, min(len(all), limit))
		}
	})
}

func TestSinkThatCannotOpen(t *testing.T) {
	s := &sink{path: "x", limit: 100, open: func(string) (io.WriteCloser, error) { return nil, errors.New("no room") }}
	s.take([]byte("one"))
	s.take([]byte("two"))
	if out, tail := s.end(); out.Fault != "no room" || out.Dropped != 6 || string(tail) != "onetwo" {
		t.Errorf("got %+v, tail %q", out, tail)
	}
}

func TestEndlessOutputIsCapped(t *testing.T) {
	c := client(t)
	out := filepath.Join(t.TempDir(), "out")
	s := shell("yes; echo never")
	s.Stdout, s.Limit = out, 1<<20
	r := start(t, c, s)
	r.pid()
	await.Until(t, "the log is full", func() bool {
		info, err := os.Stat(out)
		return err == nil && info.Size() >= 1<<20
	})
	c.Kill(r.handle, time.Second)
	if e := r.end(); e.Status.Signal() != syscall.SIGTERM || e.Output[0].Kept != 1<<20 {
		t.Errorf("ended as %+v", e)
	}
	text, err := os.ReadFile(out)
	if err != nil || len(text) > 1<<20+200 || !strings.Contains(string(text[1<<20:]), "more bytes were dropped") {
		t.Errorf("the log has %d bytes (%v)", len(text), err)
	}
}

// TestLongOutputEndsWell: a process that writes more than is kept neither blocks
// nor dies, and the end of its stderr is there.
func TestLongOutputEndsWell(t *testing.T) {
	dir := t.TempDir()
	s := shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo the end >&2; exit 5")
	s.Stdout, s.Stderr = dir+"/out", dir+"/err"
	e := start(t, client(t), s).end()
	if e.Status.ExitStatus() != 5 || e.Output[0].Dropped != 3000000-1<<20 || len(e.Tail) != tailBytes || !bytes.HasSuffix(e.Tail, []byte("\x00the end\n")) {
		t.Errorf("ended as %v, %+v, a tail of %d", e.Status, e.Output, len(e.Tail))
	}
}

func TestLogNeverFollowsALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/precious", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/precious", dir+"/out"); err != nil {
		t.Fatal(err)
	}
	s := shell("echo written")
	s.Stdout = dir + "/out"
	if e := start(t, client(t), s).end(); e.Status != 0 || e.Output[0].Fault != "" {
		t.Errorf("ended as %+v", e)
	}
	if text, _ := os.ReadFile(dir + "/precious"); string(text) != "precious" {
		t.Errorf("the file behind the link holds %q", text)
	}
	if info, err := os.Lstat(dir + "/out"); err != nil || !info.Mode().IsRegular() || info.Size() != 8 {
		t.Errorf("the log is %v, %v", info, err)
	}
}

// A task that puts a named pipe in the place of its log, before the first byte, does not
// stop the guard: opening a pipe for writing waits for a reader.
func TestLogIsNeverAPipe(t *testing.T) {
	s := shell("mkfifo out; echo written")
	s.Dir = t.TempDir()
	s.Stdout = s.Dir + "/out"
	if e := start(t, client(t), s).end(); e.Status != 0 || e.Output[0].Fault != "" {
		t.Errorf("ended as %+v", e)
	}
	if text, err := os.ReadFile(s.Stdout); string(text) != "written\n" {
		t.Errorf("the log holds %q, %v", text, err)
	}
}

// A folder that another task has put where the attempt's own is to be is no link to
// elsewhere.
func TestOwnFolderIsNeverALink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, dir+"/own"); err != nil {
		t.Fatal(err)
	}
	s := shell("echo x >made")
	s.Dir, s.MakeDir = dir+"/own", true
	if e := start(t, client(t), s).end(); e.Kind != Ended || e.Status != 0 {
		t.Errorf("ended as %+v", e)
	}
	if _, err := os.Stat(elsewhere + "/made"); err == nil {
		t.Error("the task ran behind the link")
	}
}

// TestFullDisk uses a real file system of 64 KiB, where one may be mounted.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting is not allowed here: %v; TestSinkKeepsHeadAndTail covers the case without", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	c := client(t)
	s := shell("head -c 200000 /dev/zero; echo why >&2; exit 4")
	s.Stdout, s.Stderr = dir+"/out", dir+"/err"
	e := start(t, c, s).end()
	if e.Status.ExitStatus() != 4 || !strings.Contains(e.Output[0].Fault, "no space left") || string(e.Tail) != "why\n" {
		t.Errorf("ended as %+v", e)
	}
	s.Dir, s.MakeDir = dir+"/a/b", true
	if e := start(t, c, s).end(); e.Kind != Refused && e.Output[0].Fault == "" {
		t.Errorf("on the full disk: %+v", e)
	}
}
