package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// shownSettings is a block of settings in docs/operations.md; its first line names the file,
// which is named for its role.
var shownSettings = regexp.MustCompile("(?s)```yaml\n(# ([a-z]+)\\.yaml.*?)```")

// shownCertificate is the certificate of such a block.
var shownCertificate = regexp.MustCompile(`tls_cert: (\S+)`)

// The settings that docs/operations.md shows are accepted by the daemons they are for. Daemons of two roles
// on one machine show different certificates: one names a single daemon.
func TestOperationsSettings(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shownSettings.FindAllStringSubmatch(string(page), -1)
	owner := map[string]string{} // role by certificate
	for _, block := range blocks {
		if shown := shownCertificate.FindStringSubmatch(block[1]); shown != nil {
			if other := owner[shown[1]]; other != "" && other != block[2] {
				t.Errorf("a %s and a %s show the certificate %s", other, block[2], shown[1])
			}
			owner[shown[1]] = block[2]
		}
		role, file := block[2], filepath.Join(t.TempDir(), block[2]+".yaml")
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), newRoot(connect.Roles()), []string{"config", "check", role, file}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, connect.HideFlags); code != cli.ExitDone {
			t.Errorf("the settings of a %s are refused: %s%s", role, out.String(), errs.String())
		}
	}
	if len(blocks) != strings.Count(string(page), "```yaml") || len(blocks) < 4 {
		t.Errorf("%d blocks of settings are checked, want all of them", len(blocks))
	}
}
