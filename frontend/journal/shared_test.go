package journal

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// What the processes of a large job have in common is written once for all that follow each other, and
// read into memory that they share. A small job is written as programs of before read it.
func TestWhatProcessesShareIsWrittenOnce(t *testing.T) {
	job := func(tasks int) *Submission {
		s := &Submission{Request: api.Request{Backend: api.BackendExec, Tasks: make([]api.Task, tasks)}}
		for i := range s.Request.Tasks {
			e := &api.Exec{Argv: []string{"python3", "-c", strings.Repeat("p", 4096)}, Env: []string{fmt.Sprint("CALL=", i/2)}}
			switch { // what is not like that of the one before
			case i%500 == 7:
				e.Argv, e.Env, e.Dir = []string{"other"}, nil, "/tmp"
			case i%500 == 8:
				e.Script, e.Stdin = []byte("s"), true
			}
			s.Request.Tasks[i] = api.Task{ID: fmt.Sprint(i), Payload: api.Payload{Backend: api.BackendExec, Exec: e}}
		}
		return s
	}
	for _, staged := range []bool{false, true} {
		large := job(2000)
		if staged {
			large.Request.Stage = []api.StagedFile{{Name: "n", SHA256: "a", Size: 1}}
		}
		written := encodeSubmission(large)
		if len(written) > 200_000 {
			t.Errorf("it has %d bytes", len(written))
		}
		read, err := decodeSubmission(written)
		if err != nil || !reflect.DeepEqual(read, large) {
			t.Fatalf("it does not come back: %v", err)
		}
		if tasks := read.Request.Tasks; &tasks[10].Payload.Exec.Argv[0] != &tasks[499].Payload.Exec.Argv[0] {
			t.Error("the arguments of two tasks are two in memory")
		}
	}
	small := job(20)
	written := encodeSubmission(small)
	if want := 9 * 4096; len(written) < want {
		t.Errorf("a small job has %d bytes, want %d: a program of before could not read it", len(written), want)
	}
	if read, err := decodeSubmission(written); err != nil || !reflect.DeepEqual(read, small) {
		t.Fatalf("it does not come back: %v", err)
	}
}
