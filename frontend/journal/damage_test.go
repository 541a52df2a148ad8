package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// image is the files of a journal as a crash would leave them.
type image struct {
	files map[string][]byte
	log   string // the newest log with records
	ends  []int  // of the batches in it; the first is the incarnation
	keys  []string
}

// crashImage copies the folder of an open journal that accepted n jobs, one
// fsync each.
func crashImage(t *testing.T, n int) *image {
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
	im.log, im.ends = batchEnds(t, dir)
	must(t, j.Close())
	if len(im.ends) != n+1 {
		t.Fatalf("%d batches in %s, want %d", len(im.ends), im.log, n+1)
	}
	return im
}

// batchEnds returns where each batch of the newest log in a folder ends.
func batchEnds(t *testing.T, dir string) (log string, ends []int) {
	t.Helper()
	logs, err := wal.Scan(wal.Dir{FS: vfs.Default, Dirname: dir})
	must(t, err)
	_, path := logs[len(logs)-1].SegmentLocation(0)
	r := logs[len(logs)-1].OpenForRead()
	for {
		_, at, err := r.NextRecord()
		if at.Physical > 0 {
			ends = append(ends, int(at.Physical))
		}
		if err != nil {
			must(t, r.Close())
			return filepath.Base(path), ends
		}
	}
}

// write makes a folder of the image with the newest log changed, and with the
// witness of a process that had n jobs acknowledged when it ended.
func (im *image) write(t *testing.T, n int, change func(log []byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range im.files {
		switch name {
		case im.log:
			data = change(slices.Clone(data))
		case witnessFile:
			p := progress{begun: uint64(len(im.ends)), acknowledged: uint64(1 + n)}
			data = p.append(nil)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return dir
}

func unchanged(log []byte) []byte { return log }

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

func TestUntouchedImageOpens(t *testing.T) {
	im := crashImage(t, 5)
	j, rep, got := open(t, im.write(t, 5, unchanged), Options{})
	must(t, j.Close())
	if rep.Torn != nil || !slices.Equal(got.keys(), im.keys) {
		t.Fatalf("%v, %+v", got.keys(), rep)
	}
}

// Cut anywhere behind what it had acknowledged, the journal returns the whole
// batches before the cut and reports the numbers of the others. Cut anywhere
// before that, it is refused, with the numbers that are missing.
func TestTruncatedEnd(t *testing.T) {
	im := crashImage(t, 5)
	step := 23
	if testing.Short() {
		step = 97
	}
	for off := im.ends[0]; off <= im.ends[len(im.ends)-1]; off += step {
		cut := func(b []byte) []byte { return b[:off] }
		n := im.wholeAt(off)
		if n < 5 {
			dir := im.write(t, n+1, cut)
			err := refusal(dir, Options{})
			checkRefusal(t, err, dir, im.log)
			if e := fourParts(t, err); !strings.Contains(e.What, fmt.Sprintf("batch %d, acknowledged", n+2)) {
				t.Fatalf("cut at %d behind job %d: %v", off, n, e)
			}
		}
		dir := im.write(t, n, cut)
		j, rep, got := open(t, dir, Options{})
		must(t, j.Close())
		if !slices.Equal(got.keys(), im.keys[:n]) {
			t.Fatalf("cut at %d: got %v, want %v", off, got.keys(), im.keys[:n])
		}
		if torn := n < 5; torn != (rep.Torn != nil) {
			t.Fatalf("cut at %d behind job %d: %v", off, n, rep)
		}
		if rep.Torn != nil && (*rep.Torn != Torn{uint64(n + 2), 6} || !strings.Contains(rep.String(), "were dropped")) {
			t.Fatalf("cut at %d behind job %d: %v", off, n, rep)
		}
		j, rep, got = open(t, dir, Options{})
		must(t, j.Close())
		if rep.Torn != nil || len(got.subs) != n {
			t.Fatalf("cut at %d: the second opening reports %v", off, rep)
		}
	}
}

func TestGarbageAtTheEnd(t *testing.T) {
	im := crashImage(t, 3)
	end := im.ends[len(im.ends)-1]
	for name, junk := range map[string][]byte{"bytes": bytes.Repeat([]byte{0xa5, 3, 9}, 40_000), "space never written": make([]byte, 100_000)} {
		dir := im.write(t, 3, func(b []byte) []byte { return append(b[:end], junk...) })
		j, rep, got := open(t, dir, Options{})
		must(t, j.Close())
		if rep.Torn != nil || len(got.subs) != 3 {
			t.Fatalf("%s: got %v, %v", name, got.keys(), rep)
		}
	}
}

// A flipped byte in anything acknowledged is refused, with the file, the numbers
// and what to do. In a batch that was not acknowledged it is a torn end.
func TestFlippedByte(t *testing.T) {
	im := crashImage(t, 5)
	step := 17
	if testing.Short() {
		step = 71
	}
	last := im.ends[len(im.ends)-2]
	for off := 3; off < im.ends[len(im.ends)-1]; off += step {
		flip := func(b []byte) []byte { b[off] ^= 0x40; return b }
		if off >= last {
			j, rep, got := open(t, im.write(t, 4, flip), Options{})
			must(t, j.Close())
			if rep.Torn == nil || len(got.subs) != 4 {
				t.Fatalf("flipped at %d: got %v, %v", off, got.keys(), rep)
			}
		}
		dir := im.write(t, 5, flip)
		before := folder(t, dir)
		err := refusal(dir, Options{})
		checkRefusal(t, err, dir, im.log)
		missing, n := "the batches %d to 6, acknowledged", im.wholeAt(off)
		if off >= last {
			missing = "batch %d, acknowledged"
		}
		e := fourParts(t, err)
		if off >= im.ends[0] && !strings.Contains(e.What, fmt.Sprintf(missing, n+2)) {
			t.Fatalf("flipped at %d: %v", off, e)
		}
		for _, key := range im.keys[:n] {
			if !strings.Contains(e.Next, fmt.Sprintf("%q", key)) {
				t.Fatalf("flipped at %d: %s can be read and is not named: %v", off, key, e)
			}
		}
		if now := folder(t, dir); !reflect.DeepEqual(now, before) {
			t.Fatalf("a refused journal was changed from %v to %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(now)))
		}
	}
}

// folder returns the files of a folder and their content.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		if e.Name() != store.LockFile && e.Name() != holderFile {
			files[e.Name()] = string(data)
		}
	}
	return files
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
	dir := im.write(t, 6, func(b []byte) []byte { clear(b[im.ends[2]:im.ends[4]]); return b })
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
			must(t, j.Close())
			j, _, _ = open(t, dir, Options{}) // writes what is in the log to a table
			must(t, appendWait(j, accept("one more", 1)))
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

// The manifest's last edit may be torn by a crash; the log that it made
// superfluous is then still there, so nothing is lost.
func TestTornManifest(t *testing.T) {
	im := crashImage(t, 4)
	dir := im.write(t, 4, unchanged)
	files, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	must(t, err)
	file := slices.Max(files)
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Truncate(file, info.Size()-1))
	j, rep, got := open(t, dir, Options{})
	must(t, j.Close())
	if rep.Torn != nil || !slices.Equal(got.keys(), im.keys) {
		t.Fatalf("got %v, %v", got.keys(), rep)
	}
}

// After a power cut the witness may be older than the newest batches. The store
// then finds damage that a later block of its log follows.
func TestDamageBeyondTheWitness(t *testing.T) {
	im := crashImage(t, 700)
	if end := im.ends[len(im.ends)-1]; end < 3*32<<10 {
		t.Fatalf("the log of %d bytes has fewer than three blocks", end)
	}
	dir := im.write(t, 0, func(b []byte) []byte { b[im.ends[100]+30] ^= 1; return b })
	e := fourParts(t, refusal(dir, Options{}))
	if !strings.Contains(e.Subject, dir) || !strings.Contains(e.What, "damaged") {
		t.Fatalf("the refusal is %v", e)
	}
}

// A batch is missing in the middle, and the ones before and after it are there.
func TestHoleInTheMiddleIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		batches []uint64
		want    string
	}{"one": {[]uint64{4}, "batch 4, "}, "some": {[]uint64{3, 4, 5}, "the batches 3 to 5, "}, "two holes": {[]uint64{2, 5}, "batch 5, "}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j, _, _ := open(t, dir, Options{})
			for i := range 6 {
				must(t, appendWait(j, accept(fmt.Sprint("job-", i), 1)))
			}
			for _, n := range c.batches {
				var b store.Batch
				b.Delete(ringKey(nil, n))
				must(t, j.store.Append(&b, true))
			}
			must(t, j.Close())
			e := fourParts(t, refusal(dir, Options{}))
			if !strings.Contains(e.What, c.want) || !strings.Contains(e.What, "is 7") || !strings.Contains(e.Subject, ".log") || !strings.Contains(e.Next, `"job-1"`) {
				t.Fatalf("the refusal is %v", e)
			}
		})
	}
}

func TestMissingBundleIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	must(t, appendWait(j, accept("a", 5)))
	for i := range 3 {
		must(t, appendWait(j, taskEnd("a", i)))
	}
	var b store.Batch
	b.Delete(bundleKey(nil, 1<<countBits, 1))
	must(t, j.store.Append(&b, true))
	must(t, j.Close())
	if e := fourParts(t, refusal(dir, Options{})); !strings.Contains(e.What, "bundle 1 of the records") || !strings.Contains(e.What, `"a"`) {
		t.Fatalf("the refusal is %v", e)
	}
}

func TestDamagedWitnessIsRefused(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"gone": os.Remove,
		"cut":  func(file string) error { return os.Truncate(file, 30) },
		"flip": func(file string) error {
			data, err := os.ReadFile(file)
			data[20] ^= 1
			return errors.Join(err, os.WriteFile(file, data, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j, _, _ := open(t, dir, Options{})
			must(t, j.Close())
			must(t, damage(filepath.Join(dir, witnessFile)))
			checkRefusal(t, refusal(dir, Options{}), dir, witnessFile)
		})
	}
}

// failingStore is a store that accepts no batch.
type failingStore struct{ backing }

func (failingStore) Append(*store.Batch, bool) error { return errors.New("no batch is accepted") }

// An opening that fails while it begins an incarnation leaves the acknowledged number
// in the witness as it was.
func TestFailedOpeningKeepsTheWitness(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	must(t, appendWait(j, accept("a", 1)))
	must(t, j.Close())
	before, err := readWitness(store.HostFS(), dir)
	must(t, err)
	fails := func(dir string, lock *store.DirLock, o store.Options) (backing, error) {
		s, err := openDisk(dir, lock, o)
		return failingStore{s}, err
	}
	_ = refusal(dir, Options{openStore: fails})
	after, err := readWitness(store.HostFS(), dir)
	must(t, err)
	if after.acknowledged != before.acknowledged || after.begun != before.begun+1 {
		t.Errorf("the witness was %+v and is %+v", before, after)
	}
}

// The ring of numbers wraps around: overwritten numbers are no hole.
func TestNumbersWrapAround(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	j.commit.number += 10 * ringSize // as after many batches
	var b store.Batch
	for n := j.commit.number - ringSize + 1; n <= j.commit.number; n++ {
		b.Set(appendNumber(nil, nil, n))
	}
	must(t, j.store.Append(&b, true))
	must(t, appendWait(j, accept("a", 1)))
	must(t, j.Close())
	j, rep, got := open(t, dir, Options{})
	must(t, j.Close())
	if rep.Torn != nil || len(got.subs) != 1 {
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

// A job that this program cannot read is not left out: the journal is refused, unchanged.
func TestUnreadableJobIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	must(t, appendWait(j, accept("k", 1)))
	var b store.Batch
	b.Set(jobKey(nil, 1<<countBits|9), []byte{valueVersion + 1, 0})
	must(t, j.store.Append(&b, true))
	must(t, j.Close())
	for range 2 {
		if err := refusal(dir, Options{}); !strings.Contains(fourParts(t, err).What, "the submission under 6a") {
			t.Fatalf("the refusal is %v", err)
		}
	}
}

// A damaged part that is read only after the opening, as that of jobs that ended, is refused with the
// file and what to do, too, and without the further lines of the store.
func TestDamageFoundLater(t *testing.T) {
	err := folderErr("dir", "reading which jobs ended last", &store.DamageError{File: "dir/7.sst", Err: errors.New("checksum mismatch\n(1) path: dir/7.sst\n -- stack trace")})
	checkRefusal(t, err, "dir", "7.sst")
	if e := fourParts(t, err); strings.Contains(e.What, "\n") || e.Tried != "reading which jobs ended last" {
		t.Errorf("%+v", e)
	}
}

// smallTables makes the store write and merge tables often.
func smallTables(dir string, lock *store.DirLock, o store.Options) (backing, error) {
	o.MemtableBytes = 128 << 10
	return openDisk(dir, lock, o)
}

// endJobs accepts and ends jobs whose results cannot be compressed.
func endJobs(t *testing.T, j *Journal, name string, jobs, size int, now time.Time) {
	t.Helper()
	for i := range jobs {
		key := fmt.Sprint(name, "-", i)
		end := jobEnd(key, now)
		end.Ended.Results = noise(size)
		must(t, appendWait(j, accept(key, 1), end))
	}
}

// noise returns bytes that cannot be compressed.
func noise(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// flip changes bytes of every table of a closed journal that has more than that many bytes: at these parts in
// a hundred of the table.
func flip(t *testing.T, dir string, larger int, at ...int) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	flipped := false
	for _, table := range tables {
		data, err := os.ReadFile(table)
		must(t, err)
		if len(data) > larger {
			for _, percent := range at {
				data[len(data)*percent/100] ^= 1
			}
			must(t, os.WriteFile(table, data, 0o600))
			flipped = true
		}
	}
	if !flipped {
		t.Fatal("no table is as large")
	}
}

// damagedEndedJobs makes a journal with ended jobs, some of them damaged, and an unfinished one.
func damagedEndedJobs(t *testing.T, clock *clock, jobs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	o := Options{Retention: time.Hour, Now: clock.Now}
	j, _, _ := open(t, dir, o)
	endJobs(t, j, "ended", jobs, 4000, clock.Now())
	must(t, appendWait(j, accept("unfinished", 3)))
	for range 2 { // the second opening writes what is in the log to a table
		must(t, j.Close())
		j, _, _ = open(t, dir, o)
	}
	must(t, j.Close())
	flip(t, dir, jobs*4000, 1, 30, 31, 75)
	return dir
}

// closeDamaged checks that damage has broken a journal, and closes its store, which is whole enough for that.
func closeDamaged(t *testing.T, j *Journal, err error) *api.Error {
	t.Helper()
	e := fourParts(t, err)
	if !strings.Contains(e.What, "damaged") || strings.Contains(e.What, "\n") || !strings.Contains(e.Next, "backup") || !strings.Contains(e.Next, "mv "+j.dir) {
		t.Errorf("the error is %v", e)
	}
	for what, got := range map[string]error{"broken": j.Err(), "an append": appendWait(j, accept("more", 1)), "closing": j.Close()} {
		if got == nil || got.Error() != err.Error() {
			t.Errorf("%s: %v", what, got)
		}
	}
	<-j.commit.stopped
	must(t, errors.Join(j.store.Close(), j.commit.witness.close(), j.lock.release()))
	return e
}

// TestDamagedEndedJobs: a journal in which ended jobs are damaged opens as long as it does not read them. Whatever
// does breaks it: nothing more is accepted, and the error names the file and the jobs that are not lost.
func TestDamagedEndedJobs(t *testing.T) {
	const jobs = 200
	for name, read := range map[string]func(j *Journal, c *clock) error{
		"the jobs that ended last": func(j *Journal, _ *clock) error { return j.LastEnded(1000, func(*Ended, time.Duration) {}) },
		"a look-up": func(j *Journal, _ *clock) (err error) {
			for i := 0; i < jobs && err == nil; i++ {
				_, err = j.Lookup(jobID(fmt.Sprint("ended-", i)))
			}
			return err
		},
		"the end of the retention": func(j *Journal, c *clock) error {
			c.advance(time.Hour + time.Second)
			return appendWait(j, taskEnd("unfinished", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			dir := damagedEndedJobs(t, clock, jobs)
			j, rep, got := open(t, dir, Options{Retention: time.Hour, Now: clock.Now})
			if rep.Jobs != 1 || !slices.Equal(got.keys(), []string{"unfinished"}) {
				t.Errorf("it has %v, %v", rep, got.keys())
			}
			e := closeDamaged(t, j, read(j, clock))
			if !strings.Contains(e.Subject, ".sst") || !strings.Contains(e.What, "the ended job ") || !strings.Contains(e.Next, `"unfinished"`) {
				t.Errorf("the error is %v", e)
			}
		})
	}
}

// TestDamagedTableIsNotMerged: where the store meets damage while it merges tables, the journal breaks. Its store
// leaves goroutines behind, so a child process has it.
func TestDamagedTableIsNotMerged(t *testing.T) {
	dir := damagedEndedJobs(t, newClock(), 200)
	cmd, out, _ := startChild(t, "merge", dir)
	var text string
	for out.Scan() {
		text += out.Text()
	}
	must(t, cmd.Wait())
	for _, want := range []string{dir, ".sst: it is damaged", "while merging the tables", "mv " + dir, "pigeon status"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// childMerge ends jobs until the store merges a damaged table, and prints why the journal is broken.
func childMerge(dir string) error {
	j, _, _, err := tryOpen(dir, Options{openStore: smallTables})
	for i := 0; i < 5000 && err == nil; i++ {
		key := fmt.Sprint("later-", i)
		end := jobEnd(key, time.Now())
		end.Ended.Results = noise(4000)
		err = appendWait(j, accept(key, 1), end)
	}
	fmt.Fprintln(os.Stdout, err)
	return nil
}
