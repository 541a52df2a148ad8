package guard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestSinkRolls checks every split of every stream: the files hold its last bytes
// in order, each as long as the limit except the newest, and there are no more of them
// than requested.
func TestSinkRolls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		limit, rolls := rapid.IntRange(1, 50).Draw(rt, "limit"), rapid.IntRange(1, 3).Draw(rt, "rolls")
		s := &sink{path: filepath.Join(dir, "out"), limit: int64(limit), rotations: rolls, open: createLog}
		var all []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 120), 0, 8).Draw(rt, "chunks") {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(len(all) + i)
			}
			all = append(all, p...)
			s.take(p)
		}
		out, _ := s.end()
		if out.Kept != int64(len(all)) || out.Dropped != 0 || out.Fault != "" {
			rt.Fatalf("reported %+v of %d bytes", out, len(all))
		}
		var kept []byte
		for i := rolls; i >= 0; i-- {
			path := s.path
			if i > 0 {
				path = rotated(path, i)
			}
			data, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				rt.Fatal(err)
			}
			if i > 0 && err == nil && len(data) != limit {
				rt.Fatalf("%s has %d bytes, the limit is %d", path, len(data), limit)
			}
			kept = append(kept, data...)
		}
		if !bytes.HasSuffix(all, kept) || len(kept) < min(len(all), rolls*limit) {
			rt.Fatalf("%d bytes are kept of %d, and not the last", len(kept), len(all))
		}
		if _, err := os.Stat(rotated(s.path, rolls+1)); !os.IsNotExist(err) {
			rt.Fatal("one file too many:", err)
		}
	})
}
