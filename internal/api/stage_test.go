package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func stagedFiles(names ...string) []api.StagedFile {
	list := make([]api.StagedFile, len(names))
	for i, name := range names {
		list[i] = api.StagedFile{Name: name, SHA256: fmt.Sprintf("%064x", i), Size: int64(i)}
	}
	return list
}

// Names stay below the working folder and apart from each other, and everything has a bound that
// its refusal names.
func TestStageFault(t *testing.T) {
	many := make([]string, api.MaxStagedFiles)
	for i := range many {
		many[i] = fmt.Sprintf("%s/%d", strings.Repeat("x", 250), i)
	}
	for _, c := range []struct {
		list []api.StagedFile
		want string // of the fault, "" for none
	}{
		{nil, ""},
		{stagedFiles("a", "b/c", "b/d", "..e", "a b", "ä"), ""},
		{stagedFiles("/a"), "relative path"},
		{stagedFiles("../a"), "relative path"},
		{stagedFiles("a/../b"), "relative path"},
		{stagedFiles("./a"), "relative path"},
		{stagedFiles("."), "relative path"},
		{stagedFiles(""), "relative path"},
		{stagedFiles("a//b"), "relative path"},
		{stagedFiles("a/"), "relative path"},
		{stagedFiles("a\x00b"), "relative path"},
		{stagedFiles("a\xffb"), "relative path"},
		{stagedFiles(strings.Repeat("x", 256)), "longer than 255 bytes"},
		{stagedFiles(strings.Repeat("x/", 600) + "x"), "the limit of 1024"},
		{stagedFiles("a", "b", "a"), `two of its staged files have the name "a"`},
		{stagedFiles("a/b", "a"), `"a" is that of a staged file and of a folder`},
		{stagedFiles(many...), ""},
		{stagedFiles(slices.Concat(many, []string{"one"})...), "1001 staged files, more than the limit of 1000"},
		{[]api.StagedFile{{Name: "a", SHA256: "A" + strings.Repeat("0", 63)}}, "lower-case"},
		{[]api.StagedFile{{Name: "a", SHA256: strings.Repeat("0", 64), Size: -1}}, "-1 bytes"},
		{[]api.StagedFile{{Name: "a", SHA256: strings.Repeat("0", 64), Size: 1}, {Name: "b", SHA256: strings.Repeat("0", 64), Size: 2}}, "another of the same SHA-256"},
	} {
		what, next := api.StageFault(c.list)
		if !strings.Contains(what, c.want) || (what == "") != (c.want == "") || (next == "") != (what == "") {
			t.Errorf("%d files, %.80s: %q, %q, want %q", len(c.list), fmt.Sprint(c.list), what, next, c.want)
		}
	}
	long := stagedFiles(many...)
	for i := range long {
		long[i].Name = strings.Repeat("y", 20) + "/" + long[i].Name
	}
	if what, _ := api.StageFault(long); !strings.Contains(what, "more than the limit of 262144") {
		t.Errorf("%q", what)
	}
}

// Which jobs can have staged files.
func TestJobsWithStagedFiles(t *testing.T) {
	job := func(e *api.Exec, names ...string) *api.Request {
		r := &api.Request{Key: "k", Backend: api.BackendExec, Stage: stagedFiles(names...), Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendExec, Exec: e}}}}
		if e == nil {
			r.Backend, r.Tasks[0].Payload = api.BackendSleep, api.Payload{Backend: api.BackendSleep}
		}
		return r
	}
	for name, c := range map[string]struct {
		r    *api.Request
		want string
	}{
		"exec":                {job(&api.Exec{Argv: []string{"true"}}, "a"), ""},
		"sleep":               {job(nil, "a"), "have no working folder"},
		"a folder of its own": {job(&api.Exec{Argv: []string{"true"}, Dir: "/tmp"}, "a"), `a working folder "/tmp" of its own`},
		"a script":            {job(&api.Exec{Argv: []string{"job.sh"}, Script: []byte("#!/bin/sh\n")}, "a"), ""},
		"its script's name":   {job(&api.Exec{Argv: []string{"x/job.sh"}, Script: []byte("#!/bin/sh\n")}, "job.sh"), "the name of its script"},
		"a folder of it":      {job(&api.Exec{Argv: []string{"job.sh"}, Script: []byte("#!/bin/sh\n")}, "job.sh/a"), "the name of its script"},
		"a bad name":          {job(&api.Exec{Argv: []string{"true"}}, "../a"), "relative path"},
	} {
		err := c.r.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	one, other := job(&api.Exec{Argv: []string{"true"}}, "a"), job(&api.Exec{Argv: []string{"true"}}, "b")
	if one.Fingerprint() == other.Fingerprint() || one.Fingerprint() == job(&api.Exec{Argv: []string{"true"}}).Fingerprint() {
		t.Error("jobs with other staged files have one fingerprint")
	}
	if d := one.Difference(other); !strings.Contains(d, "list of staged files") {
		t.Errorf("%q", d)
	}
}

// A content counts once, whatever its names.
func TestStagedContent(t *testing.T) {
	list := []api.StagedFile{{Name: "a", SHA256: "1", Size: 5}, {Name: "b", SHA256: "1", Size: 5}, {Name: "c", SHA256: "2", Size: 7}}
	if n := api.StagedContent(list); n != 12 {
		t.Errorf("%d bytes, want 12", n)
	}
}
