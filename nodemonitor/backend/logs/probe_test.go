package logs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A probe finds what would keep an attempt from writing, and leaves nothing.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(root string) error
		minFree int64
		want    string // of the error; "" for none
	}{
		"good":                        {},
		"left by a killed process":    {before: func(root string) error { return os.WriteFile(filepath.Join(root, probeFile), []byte("old"), 0o400) }},
		"the folder was removed":      {before: os.RemoveAll},
		"a file in its place":         {before: func(root string) error { return errors.Join(os.RemoveAll(root), os.WriteFile(root, nil, 0o600)) }, want: "not a directory"},
		"less free than is demanded":  {minFree: 1 << 62, want: "min_free_disk"},
		"as much free as is demanded": {minFree: 1},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "work")
			s, _ := open(t, Config{Root: root})
			if c.before != nil {
				must(t, c.before(root))
			}
			err := s.Probe(c.minFree)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if exists(filepath.Join(root, probeFile)) {
				t.Error("the file of the probe stays")
			}
			if _, err := begin(s, attempt(0, 1)); err != nil != (c.want == "not a directory") {
				t.Errorf("an attempt begins: %v", err)
			}
		})
	}
}
