package nodemonitor

import (
	"os"
	"testing"
)

// A node without a name in its settings has that of its host; a name in its settings is
// kept.
func TestNamedAfterTheHost(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": host, "n1": "n1"} {
		cfg := Default()
		cfg.ID, cfg.WorkDir, cfg.Listen = given, t.TempDir(), "127.0.0.1:0"
		n, err := New(cfg, Deps{})
		if err != nil {
			t.Fatal(err)
		}
		if n.self.Ref.Name != want {
			t.Errorf("the node is named %q, want %q", n.self.Ref.Name, want)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
