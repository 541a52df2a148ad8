package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A job whose user presses Ctrl-C before its submission is answered is cancelled where it was sent,
// even if it arrives later than the order to cancel it.
func TestRunInterruptedDuringSubmission(t *testing.T) {
	refused := &api.Error{Problem: api.NotFound, What: "no such job"}
	for name, c := range map[string]struct {
		before  bool    // Ctrl-C comes before anything is sent
		answers []error // to the orders to cancel the job
		state   api.State
		code    int
		says    string
	}{
		"accepted":          {false, []error{nil}, api.StateCancelled, cli.ExitInterrupted, "interrupted; job k is cancelled\n"},
		"accepted later":    {false, []error{refused, nil}, api.StateCancelled, cli.ExitInterrupted, "interrupted; job k is cancelled\n"},
		"it has ended":      {false, []error{nil}, api.StateCompleted, cli.ExitInterrupted, "interrupted; job k had ended before: completed\n"},
		"it is not allowed": {false, []error{&api.Error{Problem: api.Denied, What: "no"}}, api.StateRunning, cli.ExitFailed, "could not be cancelled: no"},
		"nothing is sent":   {true, nil, "", cli.ExitInterrupted, "interrupted; nothing was submitted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var mu sync.Mutex
			var sent, asked []string // addresses
			fake := &fakeFrontend{
				identify: func() {
					if c.before {
						interrupt()
					}
				},
				submit: func(f *fakeFrontend, _ string) {
					mu.Lock()
					sent = append(sent, f.address)
					mu.Unlock()
					interrupt()
					<-f.released
				},
				cancel: func(f *fakeFrontend) (api.Status, error) {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, f.address)
					return api.Status{Job: "k", State: c.state}, c.answers[min(len(asked), len(c.answers))-1]
				},
			}
			one, other := startFake(t, fake), startFake(t, &fakeFrontend{identify: fake.identify, submit: fake.submit, cancel: fake.cancel})
			var out, errs bytes.Buffer
			code := run(ctx, []string{"run", "--key", "k", "--frontend", one.address + "," + other.address, "--", "true"}, strings.NewReader(""), &out, &errs)
			if code != c.code || !strings.Contains(errs.String(), c.says) {
				t.Errorf("status %d, %s; want %d, %q", code, errs.String(), c.code, c.says)
			}
			mu.Lock()
			defer mu.Unlock()
			elsewhere := slices.ContainsFunc(asked, func(at string) bool { return at != sent[0] })
			if len(asked) != len(c.answers) || elsewhere || c.before && len(sent) > 0 {
				t.Errorf("sent to %v, and cancelled at %v", sent, asked)
			}
		})
	}
}

// Ctrl-C while no frontend answers, between two calls, ends as in a call: nothing was submitted.
func TestSubmissionInterruptedWhileNobodyAnswers(t *testing.T) {
	for _, verb := range []string{"run", "submit"} {
		f := startFake(t, &fakeFrontend{})
		f.die()
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		errs := &interruptingWriter{on: "does not answer", interrupt: interrupt}
		code := run(ctx, []string{verb, "--frontend", f.address, "--", "true"}, strings.NewReader(""), io.Discard, errs)
		if code != cli.ExitInterrupted || !strings.HasSuffix(errs.String(), "interrupted; nothing was submitted\n") {
			t.Errorf("%s: status %d: %s", verb, code, errs.String())
		}
	}
}

// A job that is submitted goes on when its user presses Ctrl-C before the answer, as it does after it.
func TestSubmitInterruptedBeforeTheAnswer(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	f := startFake(t, &fakeFrontend{submit: func(f *fakeFrontend, _ string) { // no cancel: a call of it would panic
		interrupt()
		<-f.released
	}})
	var out, errs bytes.Buffer
	code := run(ctx, []string{"submit", "--key", "k", "--frontend", f.address, "--", "true"}, strings.NewReader(""), &out, &errs)
	if code != cli.ExitInterrupted || !strings.HasPrefix(errs.String(), "interrupted; job k may have been accepted by frontend "+f.address) {
		t.Errorf("status %d: %s", code, errs.String())
	}
}

// interruptingWriter presses Ctrl-C when a text is written.
type interruptingWriter struct {
	bytes.Buffer
	on        string
	interrupt func()
}

// Write implements io.Writer.
func (w *interruptingWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.on) {
		w.interrupt()
	}
	return w.Buffer.Write(p)
}

// Who submits a job and closes the pipe before its id is written learns the id all the same, and that
// the job was accepted: the signal of the pipe would end the program without a word.
func TestSubmitIntoAClosedPipe(t *testing.T) {
	f := startFake(t, &fakeFrontend{})
	for _, format := range []string{"text", "json"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "submit", "--key", "k", "--frontend", f.address, "-o", format, "--", "true")
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &errs
		err = errors.Join(r.Close(), cmd.Start(), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		end, failed := errors.AsType[*exec.ExitError](cmd.Wait())
		if !failed || end.ExitCode() != cli.ExitBrokenPipe || !strings.Contains(errs.String(), "job k was accepted, and its id could not be written: ") {
			t.Errorf("-o %s: %v: %s; want status %d and the id", format, end, errs.String(), cli.ExitBrokenPipe)
		}
	}
}
