package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/documents"
)

const module = "github.com/pigeon-sched/pigeon"

// pkg has the fields that "go list -json" prints of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string // of the files that ship
}

// path is the folder inside the module, "" for the root.
func (p pkg) path() string { return inModule(p.ImportPath) }

func inModule(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// layers of docs/design.md, section 5. The longest matching folder counts, so a new
// folder below internal/ starts in layer 4.
var layers = map[string]int{
	"cmd":                          8,
	"bench/cmd":                    8,
	"deploy":                       8,
	"bench":                        7,
	"sparkplugin/sparktest":        7,
	"cluster":                      6, // it starts the daemons
	"client":                       5,
	"frontend":                     5,
	"master":                       5,
	"nodemonitor":                  5,
	"thrift":                       4,
	"packaging":                    4,
	"internal":                     4,
	"internal/policy":              3,
	"internal/queue":               2,
	"internal/ledger":              2,
	"internal/classes":             2,
	"internal/shares":              2,
	"internal/membership/protocol": 2,
	"internal/leadership/protocol": 2,
	"internal/sched":               1,
	"internal/nearest":             1,
}

// daemons share a layer and yet know each other only by the wire.
var daemons = []string{"frontend", "master", "nodemonitor"}

// under reports whether path is folder or lies below it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// layerOf returns 0 for a folder that the design does not know.
func layerOf(path string) int {
	best, layer := "", 0
	for folder, l := range layers {
		if under(path, folder) && len(folder) > len(best) {
			best, layer = folder, l
		}
	}
	return layer
}

// directionFaults lists the imports that point the wrong way.
func directionFaults(pkgs []pkg) []string {
	var faults []string
	for _, p := range pkgs {
		from := layerOf(p.path())
		if from == 0 {
			faults = append(faults, fmt.Sprintf("%s has no layer: docs/design.md, section 5, does not know this folder; move it, or give it a layer in this test", p.path()))
			continue
		}
		for _, imported := range p.Imports {
			if !under(imported, module) {
				continue
			}
			if reason := forbiddenDirection(p.path(), inModule(imported)); reason != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", p.path(), inModule(imported), reason))
			}
		}
	}
	return faults
}

func forbiddenDirection(from, to string) string {
	switch {
	case under(to, "thrift/gen") && !under(from, "thrift"):
		return "generated Thrift types stay below thrift/, where one place translates them; a change of the wire must not reach a daemon"
	case layerOf(to) > layerOf(from):
		return fmt.Sprintf("imports point down, and this goes from layer %d up to layer %d; declare an interface where it is used, and let the caller pass it in", layerOf(from), layerOf(to))
	case under(to, "internal/policy") && to != "internal/policy" && !under(from, "internal/policy"):
		return "shells, bench and the program see policies through the table in internal/policy and what sched.Policy declares, so that adding a policy is a folder and a line"
	}
	for _, a := range daemons {
		for _, b := range daemons {
			if a != b && under(from, a) && under(to, b) {
				return "daemons know each other only by messages, or they could not run on different machines and versions"
			}
		}
	}
	return ""
}

// modules are the folders of the modules whose packages the rules are for: the product, the
// laboratory, and installing.
func modules(t *testing.T) (folders []string) {
	t.Helper()
	root, err := documents.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"", "bench", "deploy"} {
		folder := filepath.Join(root, m)
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders
}

// shipped asks the go command for the packages of all modules.
func shipped(t *testing.T) (pkgs []pkg) {
	t.Helper()
	for _, folder := range modules(t) {
		// -e: a package that does not compile at the moment is its own test's fault.
		pkgs = append(pkgs, list(t, folder, "-e", "./...")...)
	}
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.path() == "internal/archtest" }) {
		t.Fatalf("go list found %d packages and not this one; nothing was checked", len(pkgs))
	}
	return pkgs
}

// list returns the packages that "go list" prints in a folder.
func list(t *testing.T, folder string, args ...string) (pkgs []pkg) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports"}, args...)...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// TestProductStandsAlone: the program pigeon has nothing of the laboratory and of installing, and none of
// the libraries that only these need.
func TestProductStandsAlone(t *testing.T) {
	t.Parallel()
	root, err := documents.Root()
	if err != nil {
		t.Fatal(err)
	}
	others := []string{module + "/bench", module + "/deploy", module + "/tools", "gonum.org", "codeberg.org/go-fonts", "github.com/parquet-go", "github.com/chromedp", "modernc.org"}
	all := list(t, root, "-deps", "./cmd/pigeon")
	for _, p := range all {
		for _, other := range others {
			if under(p.ImportPath, other) {
				t.Errorf("cmd/pigeon depends on %s; find what imports it by 'go mod why %[1]s'", p.ImportPath)
			}
		}
	}
	if len(all) < 300 {
		t.Errorf("go list -deps found only %d packages", len(all))
	}
}

// TestImportDirection: no package imports one of a layer above its own.
func TestImportDirection(t *testing.T) {
	t.Parallel()
	for _, fault := range directionFaults(shipped(t)) {
		t.Error(fault)
	}
}

// TestDirectionRules: the rules find what they are for, on made-up packages.
func TestDirectionRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		fault    string // part of the message, "" when allowed
	}{
		{"cmd/pigeon", "frontend", ""},
		{"frontend", "internal/policy", ""},
		{"frontend", "internal/policy/pigeon", "a folder and a line"},
		{"internal/sim", "internal/policy/eagle", "a folder and a line"},
		{"frontend", "thrift/client", ""},
		{"bench/live", "frontend", ""},
		{"internal/runloop", "internal/sched", ""},
		{"internal/link", "internal/telemetry", ""},
		{"thrift/wire", "thrift/gen/peer", ""},
		{"internal/policy/eagle", "internal/policy/pigeon", ""},
		{"internal/policy/pigeon", "internal/queue", ""},
		{"internal/sched", "internal/queue", "layer 1 up to layer 2"},
		{"internal/queue", "internal/policy/pigeon", "layer 2 up to layer 3"},
		{"internal/policy/pigeon", "internal/telemetry", "layer 3 up to layer 4"},
		{"internal/config", "frontend", "layer 4 up to layer 5"},
		{"thrift/server", "master", "layer 4 up to layer 5"},
		{"bench", "cmd/pigeon", "layer 7 up to layer 8"},
		{"cluster", "bench/chaos", "layer 6 up to layer 7"},
		{"cluster", "frontend", ""},
		{"nodemonitor", "cluster", "layer 5 up to layer 6"},
		{"frontend", "master", "only by messages"},
		{"nodemonitor/backend", "frontend/journal", "only by messages"},
		{"frontend", "thrift/gen/peer", "below thrift/"},
		{"misc", "frontend", "has no layer"},
	} {
		faults := directionFaults([]pkg{{ImportPath: module + "/" + c.from, Imports: []string{"fmt", module + "/" + c.to}}})
		got := strings.Join(faults, "; ")
		if c.fault == "" && got != "" || !strings.Contains(got, c.fault) {
			t.Errorf("%s -> %s: got %q, want %q", c.from, c.to, got, c.fault)
		}
	}
}
