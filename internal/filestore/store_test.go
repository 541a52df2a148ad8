package filestore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
)

func open(t testing.TB, root string) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(root, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(content string) api.File {
	h := sha256.Sum256([]byte(content))
	return api.File{Name: "f", SHA256: hex.EncodeToString(h[:]), Size: int64(len(content))}
}

// TestFolderThatIsRemoved: files can be put into a store whose folder somebody has removed, and those
// that it had can be sent again.
func TestFolderThatIsRemoved(t *testing.T) {
	root := filepath.Join(t.TempDir(), "files")
	s := open(t, root)
	had := put(t, s, "one")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	put(t, s, "other")
	if s.Has(had.SHA256) {
		t.Error("a file that was removed is here")
	}
	put(t, s, "one")
}

// put sends a file whole.
func put(t testing.TB, s *filestore.Store, content string) api.File {
	t.Helper()
	f := file(content)
	if err := s.Expect(f); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Put(f.SHA256, 0, []byte(content)); err != nil || n != f.Size {
		t.Fatal(n, err)
	}
	return f
}

// However pieces are cut, repeated or skipped, a sender that continues from the
// answer delivers the whole file, and it reads back as it was.
func TestPieces(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.StringN(1, 200, 200).Draw(rt, "content")
		s := open(t, root)
		f := file(content)
		if err := s.Expect(f); err != nil {
			rt.Fatal(err)
		}
		have := int64(0)
		for !s.Has(f.SHA256) {
			from := rapid.Int64Range(0, f.Size).Draw(rt, "from")
			if rapid.Bool().Draw(rt, "right") {
				from = have
			}
			to := min(f.Size, from+rapid.Int64Range(1, 50).Draw(rt, "length"))
			n, err := s.Put(f.SHA256, from, []byte(content[from:to]))
			if err != nil || n < have {
				rt.Fatalf("%d after %d: %v", n, have, err)
			}
			have = n
		}
		var got []byte
		for int64(len(got)) < f.Size {
			data, size, err := s.Read(f.SHA256, int64(len(got)), 7)
			if err != nil || size != f.Size || len(data) == 0 {
				rt.Fatal(len(data), size, err)
			}
			got = append(got, data...)
		}
		if string(got) != content {
			rt.Fatalf("%q, want %q", got, content)
		}
		if err := s.Trim(func(string) bool { return false }); err != nil {
			rt.Fatal(err)
		}
		if err := os.Remove(s.Path(f.SHA256)); err != nil && !os.IsNotExist(err) {
			rt.Fatal(err)
		}
	})
}

func TestRefusals(t *testing.T) {
	s := open(t, t.TempDir())
	f := file("hello")
	_, err := s.Put(f.SHA256, 0, []byte("hello"))
	wants(t, "nobody announced it", err, "announced")
	if err := s.Expect(f); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(f.SHA256, 0, []byte("hello!"))
	wants(t, "too long", err, "beyond the 5 bytes")
	_, err = s.Put(f.SHA256, 0, []byte("jello"))
	wants(t, "other bytes", err, "SHA-256")
	if s.Has(f.SHA256) {
		t.Error("a file with the wrong hash is here")
	}
	_, _, err = s.Read(f.SHA256, 0, 5)
	wants(t, "not here", err, "not here")
	big := file("x")
	big.Size = 5000
	wants(t, "no room", s.Expect(big), "limit of 1000")
	// It can be sent again after the wrong bytes.
	if n, err := s.Put(f.SHA256, 0, []byte("hello")); err != nil || n != 5 || !s.Has(f.SHA256) {
		t.Error(n, err)
	}
	other := f
	other.Size = 4
	wants(t, "another size of a file that is here", s.Expect(other), "with 5 bytes, not 4")
	wants(t, "no bytes, under another hash", s.Expect(api.File{SHA256: strings.Repeat("a", 64)}), "without bytes")
}

func wants(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// The next process has the whole files and not those that were growing.
func TestReopen(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	whole, part := put(t, s, "whole"), file("partly")
	if err := s.Expect(part); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(part.SHA256, 0, []byte("par")); err != nil {
		t.Fatal(err)
	}
	s = open(t, root)
	if !s.Has(whole.SHA256) || s.Has(part.SHA256) {
		t.Error("whole", s.Has(whole.SHA256), "part", s.Has(part.SHA256))
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*.part")); left != nil {
		t.Error("left:", left)
	}
}

func TestTrim(t *testing.T) {
	s := open(t, t.TempDir())
	old := put(t, s, strings.Repeat("a", 300))
	used := put(t, s, strings.Repeat("b", 300))
	late := put(t, s, strings.Repeat("c", 300))
	if err := s.Trim(func(sha string) bool { return sha == used.SHA256 }); err != nil {
		t.Fatal(err)
	}
	// 900 bytes of 1000: the oldest goes, then the other that is not used.
	if s.Has(old.SHA256) || !s.Has(used.SHA256) || s.Has(late.SHA256) {
		t.Error(s.Has(old.SHA256), s.Has(used.SHA256), s.Has(late.SHA256))
	}
	if _, err := os.Stat(s.Path(old.SHA256)); !os.IsNotExist(err) {
		t.Error("the file stays:", err)
	}
}

func TestEmptyFile(t *testing.T) {
	s := open(t, t.TempDir())
	f := file("")
	if err := s.Expect(f); err != nil || !s.Has(f.SHA256) {
		t.Error(s.Has(f.SHA256), err)
	}
}
