package history

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadFolder: the lines that tasks append are read back in order of time, without
// the one at which a task was killed.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	want := append(ran("b", 1, 3, "node-1", 1, 2, 4), ran("a", 0, 1, "node-0", 0, 1, 3)...)
	for i, node := range []string{"node-1", "node-0"} {
		var text bytes.Buffer
		for _, e := range want[2*i : 2*i+2] {
			if err := Append(&text, e); err != nil {
				t.Fatal(err)
			}
		}
		text.WriteString(`{"event":"st`)
		if err := os.WriteFile(filepath.Join(dir, node+".jsonl"), text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFolder(dir)
	if err != nil || !slices.Equal(got, []Event{want[2], want[0], want[3], want[1]}) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := Read(strings.NewReader("garbage\n")); err == nil || !strings.Contains(err.Error(), "garbage") {
		t.Error(err)
	}
}

// TestStartedAgain: the tasks that a killed node ran are those whose next start counts.
func TestStartedAgain(t *testing.T) {
	r := &Run{Events: slices.Concat(ran("a", 0, 1, "node-0", 0, 4, 4)[:1], ran("b", 0, 1, "node-0", 1, 4, 4.9), ran("c", 0, 1, "node-1", 1, 4, 9)[:1], ran("a", 0, 2, "node-1", 0, 7, 8))}
	kill := Fault{Kind: Kill, Victim: "node-0", From: at(5)}
	if got := r.StartedAgain(kill, false); !slices.Equal(got, []float64{2}) {
		t.Error(got)
	}
	kill.Pid = r.Events[0].Pid
	if got := r.StartedAgain(kill, true); !slices.Equal(got, []float64{2}) {
		t.Error(got)
	}
	kill.Pid++
	if got := r.StartedAgain(kill, true); len(got) != 0 {
		t.Error(got)
	}
}
