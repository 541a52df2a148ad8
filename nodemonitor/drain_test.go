package nodemonitor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The record of a drain is made under a name of its own, synced, and then replaces an older one:
// whatever else is in the folder stays as it is.
func TestDrainFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "work")
	path, other := filepath.Join(folder, drainFile), filepath.Join(t.TempDir(), "other")
	if err := (&drain{}).write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path+".new"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Hour)
	if err := (&drain{Deadline: deadline}).write(path); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "kept" {
		t.Errorf("a file behind a link is %q now (%v)", text, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got drain
	if err := json.Unmarshal(text, &got); err != nil || !got.Deadline.Equal(deadline) {
		t.Errorf("read %q (%v)", text, err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info.Mode(), err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 2 { // it, and the link
		t.Errorf("the folder has %v (%v)", list, err)
	}
}
