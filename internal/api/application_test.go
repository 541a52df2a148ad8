package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func application() *api.Application {
	return &api.Application{ID: "app-1", Template: api.Template{
		Argv: []string{"{{JAVA_HOME}}/bin/java", "-cp", "{{FILE:plugin.jar}}:{{RUNTIME}}/jars/*", "--executor-id", "{{EXECUTOR_ID}}"},
		Env:  []string{"TOKEN={{TOKEN}}"}, Memory: 512,
		Files:   []api.File{{Name: "plugin.jar", SHA256: strings.Repeat("0a", 32), Size: 3}},
		Runtime: &api.Runtime{Name: "spark", MustHold: []string{"jars/x.jar"}, Shows: []string{"jars/x*.jar"}},
		Reach:   "127.0.0.1:1",
	}}
}

func TestApplicationValidate(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*api.Application)
		want string // "" when it is right
	}{
		"as it is":                  {func(*api.Application) {}, ""},
		"no runtime, files, reach":  {func(a *api.Application) { a.Template = api.Template{Argv: []string{"p"}, Memory: 1} }, ""},
		"an id that climbs":         {func(a *api.Application) { a.ID = "../b" }, "its id"},
		"an owner":                  {func(a *api.Application) { a.Owner = "team/alice" }, ""},
		"an owner without a level":  {func(a *api.Application) { a.Owner = "team/" }, `its owner "team/" has nothing`},
		"a thousand levels":         {func(a *api.Application) { a.Owner = levels(1000) }, "1999 bytes, more than the limit of 255"},
		"an owner of a megabyte":    {func(a *api.Application) { a.Owner = strings.Repeat("a", 1<<20) }, "1048576 bytes"},
		"an owner of no text":       {func(a *api.Application) { a.Owner = "\xff" }, "not valid UTF-8"},
		"an id of dots":             {func(a *api.Application) { a.ID = ".." }, "its id"},
		"no id":                     {func(a *api.Application) { a.ID = "" }, "its id"},
		"no program":                {func(a *api.Application) { a.Template.Argv = nil }, "no program"},
		"no memory":                 {func(a *api.Application) { a.Template.Memory = 0 }, "memory is 0 MB"},
		"slots below zero":          {func(a *api.Application) { a.Template.Slots = -1 }, "-1 slots"},
		"an unknown placeholder":    {func(a *api.Application) { a.Template.Argv[1] = "{{CORES}}" }, "{{CORES}}"},
		"a file it has not":         {func(a *api.Application) { a.Template.Argv[1] = "{{FILE:b.jar}}" }, "{{FILE:b.jar}}"},
		"a name where none belongs": {func(a *api.Application) { a.Template.Argv[1] = "{{TOKEN:x}}" }, "{{TOKEN:x}}"},
		"a variable alone":          {func(a *api.Application) { a.Template.Env = []string{"A"} }, "KEY=value"},
		"a hash too short":          {func(a *api.Application) { a.Template.Files[0].SHA256 = "0a" }, "SHA-256"},
		"a hash in capitals":        {func(a *api.Application) { a.Template.Files[0].SHA256 = strings.Repeat("0A", 32) }, "SHA-256"},
		"a file name that climbs":   {func(a *api.Application) { a.Template.Files[0].Name = "a/../../b" }, "invalid name"},
		"a file too large":          {func(a *api.Application) { a.Template.Files[0].Size = api.MaxFileBytes + 1 }, "the limit"},
		"reach without a port":      {func(a *api.Application) { a.Template.Reach = "driver" }, "not host:port"},
		"a runtime that climbs":     {func(a *api.Application) { a.Template.Runtime.MustHold[0] = "../etc/passwd" }, "not a path inside"},
		"a runtime without a name":  {func(a *api.Application) { a.Template.Runtime.Name = "" }, "no name"},
		"arguments without end": {func(a *api.Application) {
			a.Template.Argv = make([]string, api.MaxExecStrings+1)
			a.Template.Argv[0] = "p"
		}, "4098"},
		"arguments without measure": {func(a *api.Application) { a.Template.Argv[1] = strings.Repeat("x", api.MaxTemplateBytes) }, "bytes"},
	} {
		a := application()
		c.set(a)
		checkError(t, name, a.Validate(), c.want)
	}
}

func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	var e *api.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (!errors.As(err, &e) || e.Problem != api.Invalid || !strings.Contains(e.What, want) || e.Subject == "" || e.Tried == "" || e.Next == ""):
		t.Errorf("%s: %+v, want %q", name, err, want)
	}
}

func TestWantsValidate(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*api.Wants)
		want string
	}{
		"as it is":         {func(*api.Wants) {}, ""},
		"every node":       {func(w *api.Wants) { w.Executors = api.EveryNode }, ""},
		"too many":         {func(w *api.Wants) { w.Executors = api.MaxExecutors + 1 }, "10001 executors"},
		"below zero":       {func(w *api.Wants) { w.Executors = -2 }, "-2 executors"},
		"a level twice":    {func(w *api.Wants) { w.Levels = append(w.Levels, w.Levels[0]) }, "there twice"},
		"a level unnamed":  {func(w *api.Wants) { w.Levels[0].Name = "" }, "no name"},
		"too much at once": {func(w *api.Wants) { w.Levels[0].Total = api.MaxLevelTasks + 2 }, "100002 grants"},
		"much in all":      {func(w *api.Wants) { w.Levels[0].Total, w.Levels[0].Had = 1<<40, 1<<40 }, ""},
		"a class":          {func(w *api.Wants) { w.Levels[0].Class = "Short" }, `"Short"`},
		"an owner":         {func(w *api.Wants) { w.Levels[0].Owner, w.Levels[0].Priority = "team/alice", -1 }, ""},
		"an odd owner":     {func(w *api.Wants) { w.Levels[0].Owner = "team/ alice" }, `for the owner "team/ alice", which has a space`},
		"a huge owner":     {func(w *api.Wants) { w.Levels[0].Owner = strings.Repeat("a", 1<<20) }, "1048576 bytes"},
		"an estimate":      {func(w *api.Wants) { w.Levels[0].Estimate = -1 }, "-1ns"},
	} {
		w := &api.Wants{Application: "a", Executors: 1, Levels: []api.Level{{Name: "l", Total: 3, Had: 1}}}
		c.set(w)
		checkError(t, name, w.Validate(), c.want)
	}
}

func TestExecutorsBelowZeroAreNotTooMany(t *testing.T) {
	err := (&api.Wants{Application: "a", Executors: -2}).Validate()
	const want = "want 0 or more, or -1 for one on every node"
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Next != want {
		t.Errorf("%v, want the advice %q", err, want)
	}
}

func TestExpand(t *testing.T) {
	got := api.Expand("{{A}}/{{FILE:x.jar}}:{{A}} {B} {{c}}", func(name, argument string) string { return "<" + name + argument + ">" })
	if want := "<A>/<FILEx.jar>:<A> {B} {{c}}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
