package replay

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEarlierRecordings: the inputs that the daemons of an earlier version recorded give
// the same actions today, under every policy. The archives hold runs of 30 jobs on three
// frontends, three masters and twelve nodes. A change of behaviour fails here first; a
// wanted one replaces the archive of its policy, with a reason in the commit.
func TestEarlierRecordings(t *testing.T) {
	archives, err := filepath.Glob("testdata/recordings/*.tar.gz")
	if err != nil || len(archives) < 12 {
		t.Fatalf("%d archives, %v; want one for each of 12 policies", len(archives), err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			spec := unpack(t, path, dir)
			run, _ := under(t, spec, "gen:exp,jobs=30,mean=1s,load=0.4", 10)
			verifyRecordings(t, run, filepath.Join(dir, spec))
		})
	}
}

// unpack writes the files of an archive below dir and returns the one folder that they
// are in, which has the name of the policy.
func unpack(t *testing.T, path, dir string) (folder string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		to := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.FileInfo().IsDir() {
			folder = filepath.Base(to)
			err = os.MkdirAll(to, 0o755)
		} else {
			err = write(to, r)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func write(path string, from io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
