package api

import (
	"fmt"
	"strings"
	"testing"
)

// processes is a job of tasks whose processes are alike but for a variable.
func processes(tasks, bytes int, variable func(i int) string) *Request {
	r, text := &Request{Key: "k", Backend: BackendExec, Tasks: make([]Task, tasks)}, strings.Repeat("x", bytes)
	for i := range r.Tasks {
		r.Tasks[i] = Task{ID: fmt.Sprint(i), Payload: Payload{Backend: BackendExec, Exec: &Exec{Argv: []string{"sh", "-c", text}, Env: []string{variable(i)}}}}
	}
	return r
}

// What processes have in common is in memory once, and counted once.
func TestProcessesShareTheirMemory(t *testing.T) {
	r := processes(1000, 10_000, func(i int) string { return fmt.Sprint("I=", i) })
	if n := r.Share(); n > 1000*400+20_000 {
		t.Errorf("it holds %d bytes", n)
	}
	first, last := r.Tasks[0].Payload.Exec, r.Tasks[999].Payload.Exec
	if !same(first.Argv, last.Argv) || last.Env[0] != "I=999" {
		t.Errorf("the last one has %q and arguments of its own", last.Env)
	}
}

// Of equal processes one counts against the limit of a job, of others each.
func TestBytesOfProcesses(t *testing.T) {
	if err := processes(1000, 100_000, func(int) string { return "I=0" }).Validate(); err != nil {
		t.Error(err)
	}
	err := processes(1000, 100_000, func(i int) string { return fmt.Sprint("I=", i) }).Validate()
	if err == nil || !strings.Contains(err.Error(), "of its first 671 tasks have more than 67108864 bytes, the limit of a job") {
		t.Error(err)
	}
}
