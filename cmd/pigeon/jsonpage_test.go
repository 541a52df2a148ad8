package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/check"
	"github.com/pigeon-sched/pigeon/bench/compare"
	"github.com/pigeon-sched/pigeon/bench/failover"
	"github.com/pigeon-sched/pigeon/bench/fairness"
	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/outputs"
	"github.com/pigeon-sched/pigeon/bench/published"
	"github.com/pigeon-sched/pigeon/bench/reuther"
	"github.com/pigeon-sched/pigeon/bench/soak"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/json.md")

const jsonPage = "../../docs/json.md"

// printed is what a verb prints with -o json.
type printed struct {
	verb string
	when string // "" for a verb that prints one kind of object
	of   reflect.Type
}

func printedObjects() []printed {
	return []printed{
		{"status", "for each job", reflect.TypeFor[api.Status]()},
		{"status", "with JOB, for each of them", reflect.TypeFor[namedJob]()},
		{"top", "for each picture", reflect.TypeFor[topPage]()},
		{"submit", "when the job is accepted", reflect.TypeFor[submitted]()},
		{"submit", "with --wait, when the job has ended", reflect.TypeFor[api.Status]()},
		{"explain", "", reflect.TypeFor[api.Explanation]()},
		{"cancel", "for each job", reflect.TypeFor[api.Status]()},
		{"history", "", reflect.TypeFor[usageLine]()},
		{"history", "with --jobs or --job, for each job", reflect.TypeFor[api.JobUsage]()},
		{"events", "for each event", reflect.TypeFor[api.Event]()},
		{"whoami", "for each frontend", reflect.TypeFor[whoamiLine]()},
		{"logs", "for each piece of output", reflect.TypeFor[logPiece]()},
		{"files", "for each file", reflect.TypeFor[leftFile]()},
		{"nodes", "for each node", reflect.TypeFor[api.Node]()},
		{"nodes", "with --groups, for each group", reflect.TypeFor[api.MasterState]()},
		{"node drain", "for each node", reflect.TypeFor[api.NodeDrain]()},
		{"node resume", "for each node", reflect.TypeFor[api.NodeDrain]()},
		{"node forget", "for each node", reflect.TypeFor[forgottenNode]()},
		{"pki init", "of the authority", reflect.TypeFor[certificateLine]()},
		{"pki issue", "of the new certificate", reflect.TypeFor[certificateLine]()},
		{"pki renew", "for each certificate that was renewed", reflect.TypeFor[certificateLine]()},
		{"pki revoke", "for each certificate that was revoked", reflect.TypeFor[certificateLine]()},
		{"pki show", "for each certificate", reflect.TypeFor[certificateLine]()},
		{"token create", "of the new token", reflect.TypeFor[tokenLine]()},
		{"token list", "for each token", reflect.TypeFor[tokenLine]()},
		{"token revoke", "for each token that was revoked", reflect.TypeFor[tokenLine]()},
		{"shares", "", reflect.TypeFor[sharesPage]()},
		{"shares", "with --by-group or --group, for each group", reflect.TypeFor[api.GroupOwners]()},
		{"dev", "when it is ready", reflect.TypeFor[devLine]()},
		{"frontend", "when it is ready", reflect.TypeFor[readyLine]()},
		{"master", "when it is ready", reflect.TypeFor[readyLine]()},
		{"nodemonitor", "when it is ready", reflect.TypeFor[readyLine]()},
		{"nats", "when it is ready", reflect.TypeFor[readyLine]()},
		{"cluster plan", "", reflect.TypeFor[plannedCluster]()},
		{"cluster apply", "for each host", reflect.TypeFor[clusters.HostResult]()},
		{"cluster upgrade", "for each host", reflect.TypeFor[clusters.HostResult]()},
		{"cluster status", "for each host", reflect.TypeFor[clusters.HostResult]()},
		{"cluster remove", "for each host", reflect.TypeFor[clusters.HostResult]()},
		{"sim", "for each policy and seed", reflect.TypeFor[measure.Result]()},
		{"replay", "for each live run, then with --compare-sim for the simulation", reflect.TypeFor[measure.Result]()},
		{"compare", "for each run", reflect.TypeFor[compare.Record]()},
		{"model", "for each policy, group size and load", reflect.TypeFor[compare.ModelPoint]()},
		{"bench latency", "", reflect.TypeFor[launch.LatencyResult]()},
		{"bench launch", "", reflect.TypeFor[launch.RateResult]()},
		{"bench fair", "", reflect.TypeFor[fairness.Result]()},
		{"bench faults", "", reflect.TypeFor[check.Result]()},
		{"bench chaos", "for each run", reflect.TypeFor[chaos.Result]()},
		{"bench soak", "", reflect.TypeFor[soak.Result]()},
		{"bench outputs", "", reflect.TypeFor[outputs.Result]()},
		{"bench failover", "", reflect.TypeFor[failover.Result]()},
		{"bench rolling", "", reflect.TypeFor[failover.RollingResult]()},
		{"bench reuther", "", reflect.TypeFor[reuther.Result]()},
		{"trace inspect", "", reflect.TypeFor[summary]()},
		{"trace list", "for each trace", reflect.TypeFor[publishedTrace]()},
		{"trace distance", "for each quantity", reflect.TypeFor[published.Distance]()},
		{"config show", "for each setting", reflect.TypeFor[config.Origin]()},
		{"doctor", "for each check", reflect.TypeFor[doctor.Finding]()},
		{"version", "", reflect.TypeFor[cli.Version]()},
	}
}

// TestJSONPage: docs/json.md is generated from the types of this program.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	page := &jsonWriter{comments: map[string]map[string]string{}}
	fmt.Fprintf(&page.out, jsonIntroduction, strings.Join(jsonVerbs(t), ", "))
	for _, p := range printedObjects() {
		page.verb(t, p)
	}
	for len(page.later) > 0 {
		next := page.later[0]
		page.later = page.later[1:]
		fmt.Fprintf(&page.out, "## %s\n\n", next.Name())
		page.fields(t, next)
	}
	if *update {
		if err := os.WriteFile(jsonPage, page.out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(jsonPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, page.out.Bytes()) {
		t.Errorf("docs/json.md is not up to date with the types; run 'make json' and see what has changed: keys are a contract")
	}
}

// jsonVerbs lists the verbs with -o, and fails for those that the page leaves out.
func jsonVerbs(t *testing.T) (verbs []string) {
	t.Helper()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		verb := strings.TrimPrefix(cmd.CommandPath(), "pigeon ")
		if cmd.Flags().Lookup("output") != nil {
			if strings.HasPrefix(verb, "config show ") {
				verb = "config show"
			}
			if !slices.ContainsFunc(printedObjects(), func(p printed) bool { return p.verb == verb }) {
				t.Errorf("pigeon %s has -o json, and the page does not say what it prints; add the type to printedObjects and run 'make json'", verb)
			}
			verbs = append(verbs, "`"+verb+"`")
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newRoot(roles()))
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

const jsonIntroduction = `# JSON of the commands

Written by ` + "`make json`" + ` from the types of the program; do not edit it.

With ` + "`-o json`" + ` these verbs print one JSON object a line (JSON Lines) on standard output, and nothing else there: %s.
Keys are a contract: a later version may add some. Times and durations are numbers of seconds, unless the table says otherwise. A *number?* is null where it is not known; an *optional* key is left out when it is 0, false, empty or, as ` + "`cpu_per_task`" + ` of a simulation, not measured.

The histories of ` + "`sim --history`, `replay --history`" + ` and of frontends are JSON Lines too: ` + "`time`" + ` (seconds from the start), ` + "`job`, `task` and `attempt`" + ` (not of a whole job), ` + "`event`" + ` and ` + "`where`" + ` (such as "worker 3"). Events of a job are submitted, completed, failed and cancelled;
of a task launched, started, suspended, resumed, ended and reported, of which live histories have started and reported, and how an attempt ended that another one followed: failed, lost or yielded. The file of a frontend has an event origin for each of its starts: ` + "`where`" + ` is the instant of time 0.

`

type jsonWriter struct {
	out      bytes.Buffer
	lastVerb string
	seen     []reflect.Type
	later    []reflect.Type               // objects inside of others, in the order found
	comments map[string]map[string]string // by package, then Type.Field
}

func (w *jsonWriter) verb(t *testing.T, p printed) {
	t.Helper()
	if p.verb != w.lastVerb {
		fmt.Fprintf(&w.out, "## pigeon %s\n\n", p.verb)
		w.lastVerb = p.verb
	}
	if p.when != "" {
		fmt.Fprintf(&w.out, "%s%s: ", strings.ToUpper(p.when[:1]), p.when[1:])
	}
	if slices.Contains(w.seen, p.of) {
		fmt.Fprintf(&w.out, "an object as of %s.\n\n", linkTo("pigeon "+verbOf(p.of)))
		return
	}
	w.seen = append(w.seen, p.of)
	if p.when != "" {
		w.out.WriteString("an object.\n\n")
	}
	w.fields(t, p.of)
}

// verbOf returns the verb whose section has an object, "" for one inside of others.
func verbOf(object reflect.Type) string {
	for _, p := range printedObjects() {
		if p.of == object {
			return p.verb
		}
	}
	return ""
}

// linkTo returns a link to a section of the page.
func linkTo(heading string) string {
	return fmt.Sprintf("[%s](#%s)", heading, strings.ToLower(strings.ReplaceAll(heading, " ", "-")))
}

// fields writes the table of an object.
func (w *jsonWriter) fields(t *testing.T, object reflect.Type) {
	t.Helper()
	w.out.WriteString("| key | type | meaning |\n| --- | --- | --- |\n")
	w.rows(t, object, false)
	w.out.WriteString("\n")
}

// rows writes a line for each key; absent: an object has all of them or none.
func (w *jsonWriter) rows(t *testing.T, object reflect.Type, absent bool) {
	t.Helper()
	for f := range object.Fields() {
		tag, _ := f.Tag.Lookup("json")
		key, options, _ := strings.Cut(tag, ",")
		switch inner := f.Type; {
		case f.Anonymous && key == "":
			pointer := inner.Kind() == reflect.Pointer
			if pointer {
				inner = inner.Elem()
			}
			w.rows(t, inner, absent || pointer)
			continue
		case !f.IsExported() || key == "-":
			continue
		case key == "":
			t.Errorf("%v.%s has no key", object, f.Name)
		}
		meaning := w.comment(t, object, f.Name)
		if meaning == "" {
			t.Errorf("%v.%s (%s) has no comment", object, f.Name, key)
		}
		kind, omitted := w.kind(f.Type), strings.Contains(options, "omitempty")
		if f.Type.Kind() == reflect.Pointer && !omitted {
			kind = strings.TrimSuffix(kind, "?") + "?" // nil is null
		}
		if omitted || absent {
			kind += ", optional"
		}
		fmt.Fprintf(&w.out, "| `%s` | %s | %s |\n", key, kind, strings.ReplaceAll(meaning, "|", `\|`))
	}
}

// kind names the JSON of a Go type.
func (w *jsonWriter) kind(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.kind(t.Elem())
	case reflect.Slice:
		return "list of " + w.kind(t.Elem())
	case reflect.Map:
		return "object of " + w.kind(t.Elem()) + "s by name"
	case reflect.Struct:
		if verbOf(t) == "" && !slices.Contains(w.seen, t) {
			w.seen, w.later = append(w.seen, t), append(w.later, t)
		}
		if verb := verbOf(t); verb != "" {
			return linkTo("pigeon " + verb)
		}
		return linkTo(t.Name())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Interface:
		return "any"
	case reflect.Float64:
		if t == reflect.TypeFor[measure.Number]() {
			return "number?"
		}
		return "number"
	default:
		return "integer"
	}
}

// comment returns the comment of a field in the sources.
func (w *jsonWriter) comment(t *testing.T, object reflect.Type, field string) string {
	t.Helper()
	const module = "github.com/pigeon-sched/pigeon/"
	path := strings.TrimPrefix(object.PkgPath(), module)
	if path == "main" {
		path = "cmd/pigeon"
	}
	if w.comments[path] == nil {
		w.comments[path] = fieldComments(t, filepath.Join("..", "..", path))
	}
	return w.comments[path][object.Name()+"."+field]
}

func fieldComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			object, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range object.Fields.List {
				for _, name := range f.Names {
					found[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
				}
			}
			return true
		})
	}
	return found
}
