package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// image is the files of a journal as a crash would leave them.
type image struct {
	files map[string][]byte
	log   string // the newest log with records
	ends  []int  // of the records in it
	keys  []string
}

// crashImage copies the folder of an open journal that accepted n jobs, one
// fsync each, every one of which says how much was on the disk before it. The
// store answers a waiting fsync a moment before it notes how far it got, so now
// and then a record still carries the offset of the fsync before: such an image
// proves less, and another is made.
func crashImage(t *testing.T, n int) *image {
	t.Helper()
	for {
		if im := newImage(t, n); im.eachSaysWhatIsSynced() {
			return im
		}
	}
}

// eachSaysWhatIsSynced reports whether every record carries the end of the one before
// it as its synced offset.
func (im *image) eachSaysWhatIsSynced() bool {
	for _, end := range im.ends[:len(im.ends)-1] {
		if binary.LittleEndian.Uint64(im.files[im.log][end+logHeader:]) != uint64(end) {
			return false
		}
	}
	return true
}

func newImage(t *testing.T, n int) *image {
	t.Helper()
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	im := &image{files: map[string][]byte{}}
	for i := range n {
		key := fmt.Sprintf("job-%d", i)
		must(t, appendWait(j, accept(key, 3)))
		im.keys = append(im.keys, key)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		im.files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
	}
	logs, err := listLogs(dir)
	must(t, err)
	must(t, j.Close())
	im.log = filepath.Base(logs[len(logs)-1].path)
	im.ends = recordEnds(im.files[im.log], uint32(logs[len(logs)-1].number))
	if len(im.ends) != n+1 { // the first is the incarnation
		t.Fatalf("%d records in %s, want %d", len(im.ends), im.log, n+1)
	}
	return im
}

// recordEnds returns where each record of a sound log ends.
func recordEnds(data []byte, log uint32) (ends []int) {
	for at := 0; ; {
		c, ok := chunkAt(data, at, log)
		if !ok {
			return ends
		}
		if at = c.end; c.last {
			ends = append(ends, at)
		}
		at = skipPadding(data, at)
	}
}

// write makes a folder of the image, with the newest log changed.
func (im *image) write(t *testing.T, change func(log []byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range im.files {
		if name == im.log {
			data = change(slices.Clone(data))
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return dir
}

// wholeAt counts the jobs whose records end at or before the offset.
func (im *image) wholeAt(off int) int {
	n := 0
	for _, end := range im.ends[1:] {
		if end <= off {
			n++
		}
	}
	return n
}

func TestUntouchedImageIsSound(t *testing.T) {
	im := crashImage(t, 5)
	j, rep, got := open(t, im.write(t, func(b []byte) []byte { return b }), Options{})
	must(t, j.Close())
	if len(rep.Torn) != 0 || !slices.Equal(got.keys(), im.keys) {
		t.Fatalf("%v, %+v", got.keys(), rep)
	}
}

// Cut anywhere, the journal gives back the whole records before the cut, and
// says when it had to drop a part of one.
func TestTruncatedEnd(t *testing.T) {
	im := crashImage(t, 5)
	step := 23
	if testing.Short() {
		step = 97
	}
	for off := im.ends[0]; off <= im.ends[len(im.ends)-1]; off += step {
		dir := im.write(t, func(b []byte) []byte { return b[:off] })
		j, rep, got := open(t, dir, Options{})
		must(t, j.Close())
		n := im.wholeAt(off)
		whole := im.ends[n]
		if !slices.Equal(got.keys(), im.keys[:n]) {
			t.Fatalf("cut at %d: got %v, want %v", off, got.keys(), im.keys[:n])
		}
		if torn := off != whole; torn != (len(rep.Torn) == 1) {
			t.Fatalf("cut at %d, records end at %d: %v", off, whole, rep)
		}
		if len(rep.Torn) == 1 {
			cut := rep.Torn[0]
			if cut.Whole != int64(whole) || cut.Dropped != int64(off-whole) || !strings.Contains(rep.String(), im.log) || !strings.Contains(rep.String(), "were dropped") {
				t.Fatalf("cut at %d: %v", off, rep)
			}
		}
		j, rep, got = open(t, dir, Options{})
		must(t, j.Close())
		if len(rep.Torn) != 0 || len(got.subs) != n {
			t.Fatalf("cut at %d: the second opening reports %v", off, rep)
		}
	}
}

func TestGarbageAtTheEnd(t *testing.T) {
	im := crashImage(t, 3)
	end := im.ends[len(im.ends)-1]
	dir := im.write(t, func(b []byte) []byte { return append(b[:end], bytes.Repeat([]byte{0xa5, 3, 9}, 40_000)...) })
	j, rep, got := open(t, dir, Options{})
	must(t, j.Close())
	if len(rep.Torn) != 1 || rep.Torn[0].Dropped != 120_000 || len(got.subs) != 3 {
		t.Fatalf("got %v, %v", got.keys(), rep)
	}
	dir = im.write(t, func(b []byte) []byte { return append(b[:end], make([]byte, 100_000)...) }) // space set aside, never written
	j, rep, got = open(t, dir, Options{})
	must(t, j.Close())
	if len(rep.Torn) != 0 || len(got.subs) != 3 {
		t.Fatalf("got %v, %v", got.keys(), rep)
	}
}

// A flipped byte in any record but the last is damage in the middle: refused,
// with the file, the jobs and what to do. In the last it is a torn end.
func TestFlippedByte(t *testing.T) {
	im := crashImage(t, 5)
	step := 17
	if testing.Short() {
		step = 71
	}
	last := im.ends[len(im.ends)-2]
	for off := 3; off < im.ends[len(im.ends)-1]; off += step {
		dir := im.write(t, func(b []byte) []byte { b[off] ^= 0x40; return b })
		j, rep, got, err := tryOpen(dir, Options{})
		if off >= last {
			must(t, err)
			must(t, j.Close())
			if len(rep.Torn) != 1 || len(got.subs) != 4 {
				t.Fatalf("flipped at %d: got %v, %v", off, got.keys(), rep)
			}
			continue
		}
		if err == nil {
			t.Fatalf("flipped at %d of %d: opened with %v, %v", off, last, got.keys(), rep)
		}
		checkRefusal(t, err, dir, im.log)
		if hit := fourParts(t, err); !strings.Contains(hit.Next, `"job-4"`) || strings.Count(hit.Next, "job-") < 4 {
			t.Fatalf("flipped at %d: the jobs at stake are missing: %v", off, hit)
		}
		now, err := os.ReadFile(filepath.Join(dir, im.log))
		must(t, err)
		if len(now) != len(im.files[im.log]) {
			t.Fatal("a refused journal was changed")
		}
	}
}

func checkRefusal(t *testing.T, err error, dir, file string) {
	t.Helper()
	e := fourParts(t, err)
	if e.Problem != api.Internal || !strings.Contains(e.Subject, filepath.Join(dir, file)) || !strings.Contains(e.What, "damaged") ||
		!strings.Contains(e.Next, "backup") || !strings.Contains(e.Next, "mv "+dir) {
		t.Fatalf("the refusal of %s is %v", file, e)
	}
}

func TestZeroedMiddleIsRefused(t *testing.T) {
	im := crashImage(t, 6)
	dir := im.write(t, func(b []byte) []byte { clear(b[im.ends[2]:im.ends[4]]); return b })
	err := refusal(dir, Options{})
	checkRefusal(t, err, dir, im.log)
}

// The store's other files, once the jobs are in a table.
func TestDamagedStoreFiles(t *testing.T) {
	for _, c := range []struct{ glob, what string }{{"*.sst", "flip"}, {"*.sst", "remove"}, {"MANIFEST-*", "flip"}, {"MANIFEST-*", "remove"}, {"marker.manifest*", "remove"}, {"*.log", "remove"}} {
		t.Run(c.glob+" "+c.what, func(t *testing.T) {
			dir := t.TempDir()
			j, _, _ := open(t, dir, Options{})
			for i := range 50 {
				must(t, appendWait(j, accept(fmt.Sprint("job-", i), 20)))
			}
			must(t, j.db.Flush())
			must(t, appendWait(j, accept("one more", 1)))
			must(t, j.db.Flush())
			must(t, j.Close())
			j, _, _ = open(t, dir, Options{})
			must(t, j.Close())
			files, err := filepath.Glob(filepath.Join(dir, c.glob))
			must(t, err)
			if len(files) == 0 {
				t.Fatal("no such file")
			}
			slices.Sort(files)
			file := files[len(files)-1] // the newest is the current one
			data, err := os.ReadFile(file)
			must(t, err)
			switch c.what {
			case "remove":
				must(t, os.Remove(file))
			case "flip":
				data[len(data)/4] ^= 1
				must(t, os.WriteFile(file, data, 0o644))
			}
			j, rep, got, err := tryOpen(dir, Options{})
			if err == nil {
				t.Fatalf("opened with %d jobs, %v, %v", len(got.subs), rep, j.Close())
			}
			e := fourParts(t, err)
			if !strings.Contains(err.Error(), dir) || !strings.Contains(e.Next, "backup") {
				t.Fatalf("the refusal is %v", e)
			}
			t.Log(e)
		})
	}
}

// The manifest's last edit may be torn by a crash; the log it made superfluous is
// then still there, so nothing is lost, and the report says it.
func TestTornManifest(t *testing.T) {
	im := crashImage(t, 4)
	dir := im.write(t, func(b []byte) []byte { return b })
	files, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	must(t, err)
	file := slices.Max(files)
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Truncate(file, info.Size()-1))
	j, rep, got := open(t, dir, Options{})
	must(t, j.Close())
	if len(rep.Torn) != 1 || rep.Torn[0].File != file || !slices.Equal(got.keys(), im.keys) {
		t.Fatalf("got %v, %v", got.keys(), rep)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	err := refusal(filepath.Join(file, "journal"), Options{})
	if e := fourParts(t, err); !strings.Contains(e.Subject, file) {
		t.Fatalf("a file in the way: %v", e)
	}

	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o500))
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		must(t, errors.Join(f.Close(), os.Remove(f.Name())))
		t.Log("this user may write anywhere: the folder without rights is not tried")
	} else {
		err := refusal(dir, Options{})
		if e := fourParts(t, err); !errors.Is(err, fs.ErrPermission) && !strings.Contains(e.Next, "right to write") {
			t.Fatalf("a folder without rights: %v", e)
		}
	}
	if e := fourParts(t, folderErr("d", "trying", &fs.PathError{Op: "open", Path: "d/LOCK", Err: fs.ErrPermission})); !strings.Contains(e.Next, "right to write") {
		t.Fatalf("%v", e)
	}
}

func TestForeignFormat(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{Frontend: "f0"})
	must(t, j.Close())
	err := refusal(dir, Options{Frontend: "f1"})
	if e := fourParts(t, err); !strings.Contains(e.What, `"f0"`) || !strings.Contains(e.What, `"f1"`) {
		t.Fatalf("another frontend's journal: %v", e)
	}
	must(t, os.WriteFile(filepath.Join(dir, formatFile), []byte("pigeon journal 99\n"), 0o644))
	err = refusal(dir, Options{})
	if e := fourParts(t, err); !strings.Contains(e.What, "99") {
		t.Fatalf("a later format: %v", e)
	}
	must(t, os.WriteFile(filepath.Join(dir, formatFile), []byte("shopping list\n"), 0o644))
	err = refusal(dir, Options{})
	checkRefusal(t, err, dir, formatFile)
}

func TestVisitEndsTheOpening(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	must(t, appendWait(j, accept("a", 1), accept("b", 1)))
	must(t, j.Close())
	stop := errors.New("enough")
	n := 0
	_, _, err := Open(dir, Options{}, func(*Job) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Fatalf("%v after %d visits", err, n)
	}
	j, _, got := open(t, dir, Options{})
	must(t, j.Close())
	if len(got.subs) != 2 {
		t.Fatalf("got %v", got.keys())
	}
}
