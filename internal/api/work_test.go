package api_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func execs(argv ...string) *api.Request {
	return &api.Request{App: "app", Backend: api.BackendExec, Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv}}}}}
}

func TestWork(t *testing.T) {
	named := execs("python3", "train.py")
	named.Name = "nightly"
	for _, c := range []struct {
		request *api.Request
		want    string
	}{
		{named, "nightly"},
		{&api.Request{App: "app", Backend: api.BackendSleep}, "sleep"},
		{&api.Request{App: "app", Backend: api.BackendApp}, "app"},
		{&api.Request{Backend: api.BackendApp}, ""},
		{execs("python3", "train.py", "--epochs", "9"), "python3 train.py"},
		{execs("/usr/bin/python3", "/home/alice/train.py"), "python3 train.py"},
		{execs("true"), "true"},
		{execs("sh", "-c", "sleep 9"), "sh"},
		{execs("cat", ""), "cat"},
		{execs("ls", "data/"), "ls"},
		{execs("echo", "two\nlines"), "echo"},
		{execs("echo", strings.Repeat("a", 101)), "echo"},
		{execs("echo", strings.Repeat("a", 100)), "echo " + strings.Repeat("a", 100)},
		{execs("odd\x01\xffname"), "odd__name"},
		{execs(strings.Repeat("ä", 60)), strings.Repeat("ä", 50)},
		{execs(), ""},
	} {
		if got := c.request.Work(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.request, got, c.want)
		}
	}
}

// Whatever a program is called, its work has a name that a user could have given.
func TestWorkIsAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		work := execs(rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "argv")...).Work()
		r := execs("true")
		if r.Name = work; len(work) > api.MaxNameBytes || !utf8.ValidString(work) || r.Validate() != nil {
			t.Fatalf("%q: %v", work, r.Validate())
		}
	})
}
