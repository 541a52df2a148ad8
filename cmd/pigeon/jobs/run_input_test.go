package jobs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// fakeTask takes the input of a job as a node does, at most room bytes at once, and is lost after
// lose bytes.
type fakeTask struct {
	attempt int
	room    int
	lose    int // of the first attempt; 0: never
	got     []byte
	ended   bool
	waits   int // for so many calls it does not run
	calls   int
	done    context.CancelFunc
	refusal error
	until   time.Time // when the first attempt is lost; zero: never
}

func (f *fakeTask) Input(_ context.Context, attempt int, _ string, p wire.Input) (wire.InputReply, error) {
	if !f.until.IsZero() && time.Now().After(f.until) {
		f.attempt, f.got, f.ended, f.calls, f.until = f.attempt+1, nil, false, 0, time.Time{}
	}
	f.calls++
	switch {
	case f.refusal != nil:
		return wire.InputReply{}, f.refusal
	case f.waits > 0:
		f.waits--
		return wire.InputReply{}, &api.Error{Problem: api.NotReady}
	case f.lose > 0 && len(f.got) >= f.lose:
		f.lose, f.attempt, f.got, f.waits = 0, f.attempt+1, nil, 3
		return wire.InputReply{}, &api.Error{Problem: api.NotReady}
	case attempt != 0 && attempt != f.attempt:
		return wire.InputReply{}, &api.Error{Problem: api.NotReady}
	}
	if end := p.Offset + int64(len(p.Data)); p.Offset <= int64(len(f.got)) && end >= int64(len(f.got)) {
		rest := p.Data[int64(len(f.got))-p.Offset:]
		n := min(f.room, len(rest))
		f.got = append(f.got, rest[:n]...)
		if p.Last && n == len(rest) {
			f.ended = true
			f.done()
		}
	}
	return wire.InputReply{UpTo: int64(len(f.got)), Closed: f.ended, Attempt: f.attempt, Node: "n1"}, nil
}

// forward gives the input to the task until that has all of it.
func (f *fakeTask) forward(t *testing.T, in stdinSource) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the fake clock
	defer cancel()
	f.done = cancel
	return (&inputForwarder{job: f, in: in}).run(ctx)
}

// Each attempt gets the input from its beginning, whatever it takes at once.
func TestInputReachesEachAttempt(t *testing.T) {
	text := someInput(700_000)
	for name, in := range map[string]func() stdinSource{
		"file": func() stdinSource { return stdinFile{bytes.NewReader(text), 0} },
		"pipe": func() stdinSource { return &stdinStream{r: bytes.NewReader(text)} },
	} {
		for _, f := range []fakeTask{
			{room: wire.MaxInput}, {room: 10_000, waits: 5}, {room: wire.MaxInput, lose: 1}, {room: 50_000, lose: 600_000},
		} {
			synctest.Test(t, func(t *testing.T) {
				f := f
				f.attempt = 1
				if err := f.forward(t, in()); err != nil || !bytes.Equal(f.got, text) || !f.ended {
					t.Errorf("%s, %d at once: %d bytes, ended %v, %v", name, f.room, len(f.got), f.ended, err)
				}
			})
		}
	}
}

// What cannot be read again is not given in part; what is not a file is nothing to give up for.
func TestInputThatCannotBeGivenAgain(t *testing.T) {
	text := someInput(3 * keptInput)
	synctest.Test(t, func(t *testing.T) {
		f := fakeTask{attempt: 1, room: wire.MaxInput, lose: 2 * keptInput}
		err := f.forward(t, &stdinStream{r: bytes.NewReader(text)})
		if err == nil || !strings.Contains(err.Error(), `attempt 2 on node "n1": its standard input cannot be given to it again: `) || f.ended {
			t.Errorf("ended %v, %v", f.ended, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := fakeTask{attempt: 1, room: wire.MaxInput, lose: 2 * keptInput}
		if err := f.forward(t, stdinFile{bytes.NewReader(text), 0}); err != nil || !bytes.Equal(f.got, text) {
			t.Errorf("%d bytes, %v", len(f.got), err)
		}
	})
}

// A refusal that will not pass ends it; anything else is for who follows the job.
func TestInputThatIsRefused(t *testing.T) {
	for problem, fatal := range map[api.Problem]bool{api.Invalid: true, api.Denied: true, api.Internal: true, api.NotFound: false, api.Busy: false, api.NotReady: false} {
		synctest.Test(t, func(t *testing.T) {
			refusal := &api.Error{Problem: problem}
			f := fakeTask{refusal: refusal}
			if err := f.forward(t, &stdinStream{r: strings.NewReader("")}); errors.Is(err, refusal) != fatal {
				t.Errorf("%v: %v", problem, err)
			}
		})
	}
}

// A task that has had all its input, or takes no more, is looked at now and then: another attempt
// would need it again.
func TestInputIsGivenAgainAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f := fakeTask{attempt: 1, room: wire.MaxInput, done: func() {}, until: time.Now().Add(30*time.Second + inputProbe/2)}
		if err := (&inputForwarder{job: &f, in: &stdinStream{r: strings.NewReader("all of it")}}).run(ctx); err != nil {
			t.Error(err)
		}
		if f.attempt != 2 || string(f.got) != "all of it" || !f.ended || f.calls < 10 || f.calls > 50 {
			t.Errorf("attempt %d has %q, ended %v, after %d calls", f.attempt, f.got, f.ended, f.calls)
		}
	})
}
