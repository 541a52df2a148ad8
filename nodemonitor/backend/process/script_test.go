package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
)

// output returns what an attempt wrote.
func (n *node) output(t *testing.T, k int) string {
	t.Helper()
	c, err := n.logs.Read(id(k), logs.Stdout, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(c.Data)
}

// A script that came with its job runs by its own interpreter, with its arguments, and is removed
// with the attempt's folder; also where the job has a working folder of its own.
func TestScript(t *testing.T) {
	n := newNode(t, guard.Options{})
	elsewhere := t.TempDir()
	for k, dir := range []string{"", elsewhere} {
		job := task(k, "work.sh", "an argument", "")
		job.Payload.Exec.Dir = dir
		job.Payload.Exec.Script = []byte("#!/bin/sh -e\necho \"$(basename $0) $#: $1\"\npwd\nstat -c %a $0\n")
		if r := n.run(t, job); r.Outcome != sched.Done {
			t.Fatalf("%+v", r)
		}
		got := strings.Split(n.output(t, k), "\n")
		want := dir
		if dir == "" {
			want = filepath.Dir(n.scripts(t)[0])
		}
		if got[0] != "work.sh 2: an argument" || got[1] != want || got[2] != "700" {
			t.Errorf("in %q: %q", dir, got)
		}
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) != 0 {
		t.Errorf("%v in the job's own folder, %v", list, err)
	}
}

// scripts returns the files of scripts below the logs.
func (n *node) scripts(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(n.root, "*", "*", "work.sh"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// A script whose interpreter the node does not have fails with what to do; names that are no file
// names are replaced.
func TestScriptsThatCannotRun(t *testing.T) {
	n := newNode(t, guard.Options{})
	job := task(0, "..")
	job.Payload.Exec.Script = []byte("#!/no/such/interpreter\n")
	if r := n.run(t, job); r.Outcome != sched.Failed || !strings.Contains(r.Reason, "interpreter") {
		t.Errorf("%+v", r)
	}
	for program, want := range map[string]string{"a/b.sh": "b.sh", "..": "script", "/": "script", strings.Repeat("x", 101): "script"} {
		if got := api.ScriptName(program); got != want {
			t.Errorf("%q has the file %q", program, got)
		}
	}
}

// Many scripts at once: none finds its file open for writing by a process that was just forked.
func TestManyScriptsAtOnce(t *testing.T) {
	n := newNode(t, guard.Options{})
	const tasks = 100
	ends := make(chan string, tasks)
	for k := range tasks {
		job := task(k, "work.sh")
		job.Payload.Exec.Script = []byte("#!/bin/sh\nexit 0\n")
		go func() {
			r := n.run(t, job)
			ends <- r.Reason
		}()
	}
	for range tasks {
		if reason := <-ends; reason != "" {
			t.Error(reason)
		}
	}
}

// The index of an array is in the environment of its tasks alone.
func TestArrayIndex(t *testing.T) {
	n := newNode(t, guard.Options{})
	for k, array := range []*api.Array{nil, {First: 10, Step: 5}, {First: 10, Step: 5}} {
		job := task(k, "sh", "-c", `echo "index: $PIGEON_ARRAY_INDEX"`)
		job.Payload.Array = array
		if r := n.run(t, job); r.Outcome != sched.Done {
			t.Fatalf("%+v", r)
		}
		want := "index: \n"
		if array != nil {
			want = []string{"", "index: 15\n", "index: 20\n"}[k]
		}
		if got := n.output(t, k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
