package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureLayers: everything up to the policies is a state machine or its parts.
const pureLayers = 3

// impureImports says why each is forbidden in a pure package. A path covers what
// lies below it.
var impureImports = map[string]string{
	"time":                     "an instant and a span are int64 nanoseconds and come in as arguments; a core that can read a clock cannot be simulated",
	"math/rand":                "its sequence is not fixed between Go versions; draws are keyed, from math/rand/v2 generators seeded per job and role",
	"crypto/rand":              "the same seed must give the same actions",
	"log":                      "a core returns what happened as actions; the shell logs",
	"os":                       "a core cannot touch the world; the shell reads files and the environment",
	"io":                       "a core has no streams; the shell reads and writes",
	"net":                      "a core sends by appending an action; the shell owns sockets",
	"context":                  "nothing in a core waits, so nothing can be cancelled",
	"sync":                     "one goroutine owns a core; a lock would hide that somebody else touches it",
	"runtime":                  "a decision must not depend on the machine",
	"unsafe":                   "a decision must not depend on the layout of memory",
	"reflect":                  "messages are told apart by a type switch, which is checked when it is compiled",
	"github.com/prometheus":    "counters are kept by the shell, which sees every action",
	"go.opentelemetry.io":      "spans are made by the shell, which sees every action",
	"github.com/apache/thrift": "wire types are translated below thrift/",
	"github.com/nats-io":       "notices are sent by the shell",
	"encoding/gob":             "its output depends on what was encoded before; the journal's format is fixed",
	"encoding/json":            "a core has no text form; the shell renders it",
	"hash/maphash":             "its seed differs in each process; use hash/fnv",
}

// seededOnly are the names of math/rand/v2 that take their randomness from a
// source given to them; all others draw from the process-wide generator.
var seededOnly = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source", "Zipf"}

func TestPurity(t *testing.T) {
	checked := 0
	for _, p := range shipped(t) {
		if layer := layerOf(p.path()); layer == 0 || layer > pureLayers {
			continue
		}
		if p.path() == "internal/policy" {
			continue // the table reads what users write, durations too; the cores lie below it
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", p.path(), err)
				continue
			}
			checked++
			for _, fault := range impurities(fset, f) {
				t.Errorf("%s/%s is not pure (docs/design.md, section 1): %s", p.path(), name, fault)
			}
		}
	}
	if checked == 0 {
		t.Error("no file of a pure package was found; nothing was checked")
	}
}

// impurities lists what one file of a pure package must not contain.
func impurities(fset *token.FileSet, f *ast.File) []string {
	var faults []string
	fault := func(at token.Pos, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("line %d: ", fset.Position(at).Line)+fmt.Sprintf(format, args...))
	}
	random := ""
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			fault(spec.Pos(), "import path %s: %v", spec.Path.Value, err)
			continue
		}
		if path == "math/rand/v2" {
			random = "rand"
			if spec.Name != nil {
				random = spec.Name.Name
			}
			continue
		}
		if reason := impureImport(path); reason != "" {
			fault(spec.Pos(), "imports %s: %s", path, reason)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			fault(n.Pos(), "starts a goroutine: one goroutine owns a core, and it is the shell's")
		case *ast.SelectStmt:
			fault(n.Pos(), "selects: nothing in a core waits")
		case *ast.ChanType:
			fault(n.Pos(), "uses a channel: messages come in by Step and go out as actions")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && random != "" && x.Name == random && !slices.Contains(seededOnly, n.Sel.Name) {
				fault(n.Pos(), "draws from the process-wide generator by %s.%s: draws are keyed by (run seed, job) or (run seed, role)", random, n.Sel.Name)
			}
		}
		return true
	})
	return faults
}

// impureImport returns the reason of the longest listed path that covers it.
func impureImport(path string) string {
	best, reason := "", ""
	for forbidden, why := range impureImports {
		if under(path, forbidden) && len(forbidden) > len(best) {
			best, reason = forbidden, why
		}
	}
	if reason == "" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !under(path, module) {
		return "a pure package needs nothing but the standard library"
	}
	return reason
}

// TestPurityRules: the rules find what they are for, in made-up files.
func TestPurityRules(t *testing.T) {
	for _, c := range []struct{ source, fault string }{
		{`import ("fmt"; "math"; "slices"; "encoding/binary"; "hash/fnv")`, ""},
		{`import "math/rand/v2"; var r = rand.New(rand.NewPCG(1, 2))`, ""},
		{`import "github.com/pigeon-sched/pigeon/internal/sched"`, ""},
		{`func f(r interface{ IntN(int) int }) int { return r.IntN(3) }`, ""},
		{`import "math/rand/v2"; var n = rand.IntN(3)`, "rand.IntN"},
		{`import dice "math/rand/v2"; var n = dice.Uint64()`, "dice.Uint64"},
		{`import "math/rand"`, "not fixed between Go versions"},
		{`import "time"`, "clock"},
		{`import "os/exec"`, "touch the world"},
		{`import "net/http"`, "sockets"},
		{`import "sync/atomic"`, "a lock would hide"},
		{`import "log/slog"`, "the shell logs"},
		{`import "context"`, "cancelled"},
		{`import "github.com/prometheus/client_golang/prometheus"`, "kept by the shell"},
		{`import "go.opentelemetry.io/otel/trace"`, "spans are made"},
		{`import "github.com/nats-io/nats.go"`, "notices"},
		{`import "example.org/anything"`, "standard library"},
		{`func f() { go f() }`, "starts a goroutine"},
		{`func f() { select {} }`, "selects"},
		{`var c chan int`, "channel"},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x\n"+c.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", c.source, err)
		}
		got := strings.Join(impurities(fset, f), "; ")
		if c.fault == "" && got != "" || !strings.Contains(got, c.fault) {
			t.Errorf("%s: got %q, want %q", c.source, got, c.fault)
		}
	}
}
