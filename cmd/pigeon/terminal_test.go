package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// orders are what a terminal obeys: a line that is written over, a title, a screen that is cleared by
// the code of one character, and text from right to left.
const orders = "a\rb\x1b]0;c\x07d\u009b2Je\u202ef"

// What a frontend answers cannot clear the screen or change a line above, whether it is an error or the
// end of a job.
func TestAnswersCannotCommandTheTerminal(t *testing.T) {
	f := startFake(t, &fakeFrontend{state: api.State(orders)})
	refuses := startFake(t, &fakeFrontend{refuse: &api.Error{Problem: api.Denied, What: orders, Subject: orders, Tried: orders, Next: orders}})
	f.cancel = func(*fakeFrontend) (api.Status, error) { return api.Status{Job: orders, State: api.State(orders)}, nil }
	for _, c := range []struct {
		at   *fakeFrontend
		args []string
	}{
		{refuses, []string{"status"}}, {refuses, []string{"status", "k"}}, {f, []string{"status"}}, {f, []string{"cancel", "k"}},
	} {
		var out, errs bytes.Buffer
		run(t.Context(), append(c.args, "--frontend", c.at.address), strings.NewReader(""), &out, &errs)
		text := out.String() + errs.String()
		if !strings.Contains(text, "a?b?]0;c?d?2Je?f") || strings.ContainsAny(text, "\r\x1b\x07\u009b\u202e") {
			t.Errorf("pigeon %q prints %q", c.args, text)
		}
	}
}
