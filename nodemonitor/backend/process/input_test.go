package process

import (
	"errors"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// The new part of a piece is passed on, once, and the next piece waits until there is room.
func TestPieces(t *testing.T) {
	var fed string
	for _, c := range []struct {
		name  string
		in    *input
		piece Piece
		fed   string // what is passed to the guard
		taken int64  // then
		waits bool
		over  bool
	}{
		{"the first one", &input{began: true}, Piece{Data: []byte("abc")}, "abc", 3, false, false},
		{"a repetition", &input{began: true, state: guard.InputState{Taken: 3}}, Piece{Data: []byte("abc")}, "", 3, false, false},
		{"one that is known in part", &input{began: true, state: guard.InputState{Taken: 2}}, Piece{Data: []byte("abc")}, "c", 3, false, false},
		{"one behind a gap", &input{began: true, state: guard.InputState{Taken: 2}}, Piece{Offset: 3, Data: []byte("abc")}, "", 2, false, false},
		{"a question", &input{began: true, state: guard.InputState{Taken: 2, Writing: true}}, Piece{Offset: 2}, "", 2, false, false},
		{"no room", &input{began: true, state: guard.InputState{Taken: 2, Writing: true}}, Piece{Offset: 2, Data: []byte("abc")}, "", 2, true, false},
		{"the end after all was taken", &input{began: true, state: guard.InputState{Taken: 3}}, Piece{Data: []byte("abc"), Last: true}, "!", 3, false, false},
		{"the end again", &input{began: true, state: guard.InputState{Taken: 3, Writing: true}}, Piece{Data: []byte("abc"), Last: true}, "", 3, true, false},
		{"after the end", &input{began: true, state: guard.InputState{Taken: 3, Closed: true}}, Piece{Offset: 3, Data: []byte("d")}, "", 3, false, false},
		{"before the process", &input{}, Piece{Data: []byte("abc")}, "", 0, true, false},
		{"after the process", &input{began: true, over: true}, Piece{Data: []byte("abc")}, "", 0, false, true},
	} {
		fed = ""
		c.in.changed = make(chan struct{})
		s, wait, over := c.in.take(&c.piece, func(_ int64, data []byte) bool {
			fed = string(data)
			if c.piece.Last {
				fed += "!"
			}
			return true
		})
		if fed != c.fed || s.Taken != c.taken || (wait != nil) != c.waits || over != c.over {
			t.Errorf("%s: gives %q on and returns %+v, waits %v, over %v", c.name, fed, s, wait != nil, over)
		}
	}
}

// An attempt takes its input piece by piece; one that takes none, or does not run, reports
// that.
func TestInputOfAnAttempt(t *testing.T) {
	n := newNode(t, guard.Options{})
	ended := make(chan backend.Result, 2)
	reads, deaf := task(1, "cat"), task(2, "sleep", "600")
	reads.Payload.Exec.Stdin = true
	n.Start(reads, func(r backend.Result) { ended <- r })
	n.Start(deaf, func(backend.Result) {})
	give := func(offset int64, data string, last bool) guard.InputState {
		t.Helper()
		s, err := n.Input(t.Context(), id(1), &Piece{Offset: offset, Data: []byte(data), Last: last, Wait: await.Limit})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, piece := range []string{"one ", "one ", "one two "} {
		give(0, piece, false)
	}
	if s := give(99, "never", true); s.Taken != 8 {
		t.Errorf("%+v", s)
	}
	give(8, "three", true)
	if r := <-ended; r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	files, err := n.logs.Read(id(1), 0, 0, 100)
	if err != nil || string(files.Data) != "one two three" {
		t.Errorf("%q, %v", files.Data, err)
	}
	for attempt, problem := range map[int]api.Problem{1: api.NotReady, 2: api.Invalid, 3: api.NotReady} {
		_, err := n.Input(t.Context(), id(attempt), &Piece{Wait: time.Second})
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != problem {
			t.Errorf("attempt %d: %v", attempt, err)
		}
	}
}
