package journal

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A job with staged files is written so that a program of before staged files refuses it, and its
// process comes back whole. One without is written as before.
func TestStagedFilesAreNotOverlooked(t *testing.T) {
	s := &Submission{Request: api.Request{Backend: api.BackendExec, Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"a"}, Stdin: true}}}}}}
	marker := func() byte {
		c := coder{staged: len(s.Request.Stage) > 0}
		c.payload(&s.Request.Tasks[0].Payload)
		head := coder{reading: true, in: string(c.out)}
		var p api.Payload
		text(&head, &p.Backend)
		head.bytes(&p.Message)
		signed(&head, &p.Sleep)
		var exec byte
		head.byte(&exec)
		if exec != execWithFiles {
			return exec
		}
		if head.texts(&[]string{}); head.err == nil { // as a program of before reads on
			t.Error("a program of before would read the process")
		}
		return exec
	}
	if got := marker(); got != execWithStdin {
		t.Errorf("without files it is marked %d, want %d", got, execWithStdin)
	}
	s.Request.Stage = []api.StagedFile{{Name: "data", SHA256: "1", Size: 3, Executable: true}}
	if got := marker(); got != execWithFiles {
		t.Errorf("with files it is marked %d, want %d", got, execWithFiles)
	}
	read, err := decodeSubmission(encodeSubmission(s))
	if err != nil || !read.Request.Tasks[0].Payload.Equal(&s.Request.Tasks[0].Payload) || len(read.Request.Stage) != 1 || read.Request.Stage[0] != s.Request.Stage[0] {
		t.Errorf("%+v, %v", read, err)
	}
}
