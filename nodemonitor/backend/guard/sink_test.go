package guard

import (
	"bytes"
	"errors"
	"fmt"
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

// disk is a log file on a disk of the given size, where a gap takes no room.
type disk struct {
	data []byte
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.data, d.room = append(d.data, p[:n]...), d.room-n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, at int64) (int, error) {
	d.data = append(d.data, make([]byte, int(at)-len(d.data))...)
	return d.Write(p)
}

func (d *disk) Truncate(size int64) error {
	d.data, d.room = d.data[:size], d.room+len(d.data)-int(size)
	return nil
}

func (d *disk) Close() error { return nil }

// disks are the files of one output on a disk; those of all share its room.
type disks struct{ file, gap *disk }

func (d *disks) open(path string) (output, error) {
	if strings.HasSuffix(path, GapSuffix) {
		d.gap = &disk{room: 1 << 10}
		if d.file != nil && d.file.room == 0 {
			d.gap.room = 0
		}
		return d.gap, nil
	}
	return d.file, nil
}

// TestSinkKeepsHeadAndTail checks every split of every stream: the first limit bytes and the last
// lateBytes are in the file where they belong, what is between is recorded, the last tailBytes are
// in memory, and all are counted.
func TestSinkKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 3*tailBytes).Draw(t, "limit")
		d := &disks{file: &disk{room: rapid.IntRange(0, 1<<20).Draw(t, "room")}}
		room := d.file.room
		s := &sink{path: "x", limit: int64(limit), open: d.open}
		var all []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, lateBytes), 0, 12).Draw(t, "chunks") {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(rand.N(256))
			}
			all = append(all, p...)
			s.take(p)
		}
		out, tail := s.end()
		from, to := int64(len(all)), int64(len(all))
		if d.gap != nil && len(d.gap.data) == 0 {
			if room > 0 || out.Fault == "" {
				t.Fatalf("with room for %d no gap is recorded: %+v", room, out)
			}
			return
		}
		if d.gap != nil {
			if _, err := fmt.Sscanf(string(d.gap.data), "%d %d ", &from, &to); err != nil {
				t.Fatalf("the gap is %q: %v", d.gap.data, err)
			}
		}
		if out.Dropped != to-from || out.Kept+out.Dropped != int64(len(all)) {
			t.Fatalf("of %d bytes reported %+v, and the gap is from %d to %d", len(all), out, from, to)
		}
		if !bytes.Equal(d.file.data[:from], all[:from]) || to < int64(len(all)) && !bytes.Equal(d.file.data[to:], all[to:]) {
			t.Fatal("the file does not hold the beginning and the end where they belong")
		}
		if want := all[max(len(all)-tailBytes, 0):]; !bytes.Equal(tail, want) {
			t.Fatalf("the tail has %d bytes or others than the last %d", len(tail), len(want))
		}
		if room > len(all) && (from < int64(min(limit, len(all))) || d.gap != nil && to != int64(len(all)-lateBytes) || out.Fault != "") {
			t.Fatalf("of %d bytes with room for %d and a limit of %d the gap is from %d to %d, fault %q", len(all), room, limit, from, to, out.Fault)
		}
		if fault := min(len(all), limit) > room; fault && out.Fault == "" {
			t.Fatalf("no fault with room for %d of %d", room, min(len(all), limit))
		}
	})
}

// A disk that is nearly full gets no more of an output than its end.
func TestSinkOnADiskThatIsNearlyFull(t *testing.T) {
	d := &disks{file: &disk{room: 1 << 30}}
	looks := 0
	s := &sink{path: "x", limit: 1 << 30, open: d.open, room: func(string) bool {
		looks++
		return looks < 3
	}}
	piece := bytes.Repeat([]byte("p"), chunkBytes)
	for range 4 * roomEvery / chunkBytes {
		s.take(piece)
	}
	if out, _ := s.end(); out.Kept != 3*roomEvery-chunkBytes+lateBytes || looks != 3 || out.Fault != "" ||
		string(d.gap.data) != fmt.Sprintf("%d %d the disk of its node is nearly full\n", 3*roomEvery-chunkBytes, 4*roomEvery-lateBytes) {
		t.Errorf("%+v after %d looks, %q", out, looks, d.gap.data)
	}
	if !diskHasRoom("/no/such/folder/x") {
		t.Error("a disk that does not tell has no room")
	}
}

// What a process wrote before its end is kept, although it has not been read by then and an
// escaped child still holds the pipe.
func TestSinkReadsThePipeAtItsDeadline(t *testing.T) {
	read, write, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(write) }) // an escaped child holds it
	text := bytes.Repeat([]byte("0123456789"), chunkBytes/4)
	if n, err := syscall.Write(write, text); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	pipe := os.NewFile(uintptr(read), "output")
	if err := pipe.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	files := disks{file: &disk{room: 1 << 20}}
	k := &sink{path: "out", limit: 1 << 20, open: files.open}
	k.drain(pipe, new([chunkBytes]byte), 0)
	if out, tail := k.end(); out.Kept != int64(len(text)) || !bytes.Equal(files.file.data, text) || !bytes.Equal(tail, text[len(text)-tailBytes:]) {
		t.Errorf("of %d bytes in the pipe: %+v, a tail of %d bytes", len(text), out, len(tail))
	}
}

// TestSinkOfAPipeThatCannotBeRead: output that may be missing is reported.
func TestSinkOfAPipeThatCannotBeRead(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(read.Close(), write.Close()); err != nil {
		t.Fatal(err)
	}
	k := &sink{path: "out", limit: 100, open: (&disks{file: &disk{room: 100}}).open}
	buf := new([chunkBytes]byte)
	k.drain(read, buf, copy(buf[:], "before"))
	if out, _ := k.end(); out.Kept != 6 || !strings.Contains(out.Fault, "cannot be read any further") {
		t.Errorf("%+v", out)
	}
}

func TestSinkThatCannotOpen(t *testing.T) {
	s := &sink{path: "x", limit: 100, open: func(string) (output, error) { return nil, errors.New("no room") }}
	s.take([]byte("one"))
	s.take([]byte("two"))
	if out, tail := s.end(); !strings.HasSuffix(out.Fault, "no room") || out.Dropped != 6 || string(tail) != "onetwo" {
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
	if e := r.end(); e.Status.Signal() != syscall.SIGTERM || e.Output[0].Kept > 1<<20+lateBytes {
		t.Errorf("ended as %+v", e)
	} else if e.Output[0].Dropped > 0 {
		gap, err := os.ReadFile(out + GapSuffix)
		if want := fmt.Sprintf("%d %d its node keeps", 1<<20, 1<<20+e.Output[0].Dropped); err != nil || !strings.HasPrefix(string(gap), want) {
			t.Errorf("the gap is %q (%v), want %q", gap, err, want)
		}
	}
	var info syscall.Stat_t
	if err := syscall.Stat(out, &info); err != nil || info.Blocks*512 > 2<<20 {
		t.Errorf("the log occupies %d bytes (%v)", info.Blocks*512, err)
	}
}

// TestLongOutputEndsWell: a process that writes more than is kept neither blocks
// nor dies, and the end of its stderr is there.
func TestLongOutputEndsWell(t *testing.T) {
	dir := t.TempDir()
	s := shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo the end >&2; exit 5")
	s.Stdout, s.Stderr = dir+"/out", dir+"/err"
	e := start(t, client(t), s).end()
	if e.Status.ExitStatus() != 5 || e.Output[0].Dropped != 3000000-1<<20-lateBytes || len(e.Tail) != tailBytes || !bytes.HasSuffix(e.Tail, []byte("\x00the end\n")) {
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

// A link that another task has put in the place of the attempt's own folder is not followed.
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
