package filestore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/filestore"
)

func openOn(t testing.TB, disk vfs.FS) *filestore.Store {
	t.Helper()
	s, err := filestore.OpenOn(disk, "files", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns a file whole.
func read(t testing.TB, s *filestore.Store, sha string) string {
	t.Helper()
	var got []byte
	for {
		data, size, err := s.Read(sha, int64(len(got)), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, data...); len(data) == 0 {
			if int64(len(got)) != size {
				t.Fatalf("%d bytes of %d", len(got), size)
			}
			return string(got)
		}
	}
}

// A power failure leaves names without their content, when the content was not written
// to the disk before: here, as many bytes of zero. Such a file is not used, is counted, and
// can be sent again.
func TestContentThatDoesNotMatchItsName(t *testing.T) {
	const content = "what it must hold"
	f := file(content)
	for name, damaged := range map[string]string{
		"zeros": string(make([]byte, len(content))), "short": content[:5], "empty": "", "long": content + "x",
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(root+"/"+f.SHA256, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, root)
			if s.Has(f.SHA256) {
				t.Error("it is taken for the file")
			}
			if data, _, err := s.Read(f.SHA256, 0, 100); err == nil {
				t.Errorf("it reads as %q", data)
			}
			if got := s.Stats(); got != (filestore.Stats{Damaged: 1}) {
				t.Errorf("counted %+v", got)
			}
			put(t, s, content)
			if got := read(t, s, f.SHA256); got != content {
				t.Errorf("sent again it reads as %q", got)
			}
		})
	}
}

// A file that changes or disappears while the store is open is not used either.
func TestFileThatChangesUnderTheStore(t *testing.T) {
	s := open(t, t.TempDir())
	f := put(t, s, "right")
	if err := os.WriteFile(s.Path(f.SHA256), []byte("wrong, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Has(f.SHA256) {
		t.Error("the changed file is here")
	}
	put(t, s, "right")
	if err := os.Remove(s.Path(f.SHA256)); err != nil {
		t.Fatal(err)
	}
	if s.Has(f.SHA256) {
		t.Error("the removed file is here")
	}
	if got := s.Stats(); got != (filestore.Stats{Damaged: 1, Missing: 1}) {
		t.Errorf("counted %+v", got)
	}
	put(t, s, "right")
	if empty := put0(t, s); !s.Has(empty) || os.Remove(s.Path(empty)) != nil || s.Has(empty) || put0(t, s) != empty || !s.Has(empty) {
		t.Error("an empty file that was removed is not made again")
	}
}

// put0 announces an empty file, which is whole at once.
func put0(t *testing.T, s *filestore.Store) string {
	t.Helper()
	f := file("")
	if err := s.Expect(f); err != nil {
		t.Fatal(err)
	}
	return f.SHA256
}

// Whatever of the unsynced writes a power failure keeps, a file that the store has had
// whole is there afterwards, and no file has another content than its name says.
func TestPowerFailure(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewCrashableMem()
		if err := disk.MkdirAll("files", 0o700); err != nil {
			rt.Fatal(err)
		}
		root, err := disk.OpenDir("")
		if err != nil {
			rt.Fatal(err)
		}
		if err := root.Sync(); err != nil { // the folder itself is old
			rt.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		contents := map[string][]byte{}
		for i := range 4 {
			b := bytes.Repeat([]byte(fmt.Sprint(i)), rapid.SampledFrom([]int{0, 10, 5000, 20_000}).Draw(rt, "size"))
			contents[file(string(b)).SHA256] = b
		}
		for range 3 {
			s, whole := openOn(t, disk), map[string]bool{}
			for sha, b := range contents {
				f := file(string(b))
				if err := s.Expect(f); err != nil {
					rt.Fatal(err)
				}
				for have := int64(0); have < f.Size && rapid.IntRange(0, 5).Draw(rt, "stops") > 0; {
					if have, err = s.Put(sha, have, b[have:min(have+7000, f.Size)]); err != nil {
						rt.Fatal(err)
					}
				}
				whole[sha] = s.Has(sha)
			}
			disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rapid.IntRange(0, 100).Draw(rt, "kept"), RNG: rng})
			s = openOn(t, disk)
			for sha, b := range contents {
				has := s.Has(sha)
				if whole[sha] && !has {
					rt.Fatalf("a file of %d bytes that was whole is gone", len(b))
				}
				if has && read(t, s, sha) != string(b) {
					rt.Fatalf("a file of %d bytes has another content", len(b))
				}
			}
		}
	})
}

// A disk that fails while a file is put into its place leaves it to be sent again.
func TestDiskThatFails(t *testing.T) {
	for i := range int32(20) {
		nth := errorfs.OnIndex(i)
		disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
				return nil
			}
			return nth.MaybeError(op)
		}))
		s, err := filestore.OpenOn(disk, "files", 1000)
		if err != nil {
			continue // the folder could not be made
		}
		f := file("content")
		if err := s.Expect(f); err != nil {
			t.Fatal(err)
		}
		_, err = s.Put(f.SHA256, 0, []byte("content"))
		if (err == nil) != s.Has(f.SHA256) {
			t.Fatalf("write %d fails: %v, and the file is here: %v", i, err, s.Has(f.SHA256))
		}
		if _, again := s.Put(f.SHA256, 0, []byte("content")); again != nil || read(t, s, f.SHA256) != "content" {
			t.Fatalf("write %d fails: sent again: %v", i, again)
		}
	}
}
