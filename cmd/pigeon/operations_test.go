package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownSettings is a block of settings in docs/operations.md; its first line names the file,
// which is named for its role.
var shownSettings = regexp.MustCompile("(?s)```yaml\n(# ([a-z]+)\\.yaml.*?)```")

// The settings that docs/operations.md shows are accepted by the daemons they are for.
func TestOperationsSettings(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shownSettings.FindAllStringSubmatch(string(page), -1)
	for _, block := range blocks {
		role, file := block[2], filepath.Join(t.TempDir(), block[2]+".yaml")
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := execute(t.Context(), newRoot(roles()), []string{"config", "check", role, file}, stdio{strings.NewReader(""), &out, &errs}); code != exitDone {
			t.Errorf("the settings of a %s are refused: %s%s", role, out.String(), errs.String())
		}
	}
	if len(blocks) != strings.Count(string(page), "```yaml") || len(blocks) < 4 {
		t.Errorf("%d blocks of settings are checked, want all of them", len(blocks))
	}
}
