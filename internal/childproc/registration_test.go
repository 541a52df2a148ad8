package childproc

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A program starts itself with verbs that it registered, and at a depth of one.
func TestOwnProgram(t *testing.T) {
	refused := func(verb, want string) {
		t.Helper()
		_, _, err := OwnProgram(verb, "some.Register()")
		if e, ok := errors.AsType[*api.Error](err); !ok || e.What == "" || e.Tried == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("the verb %q: %v, want %q", verb, err, want)
		}
	}
	refused("act", "some.Register()")
	if Register("act", "other") {
		t.Error("this process was not started as either")
	}
	argv, mark, err := OwnProgram("act", "some.Register()")
	if err != nil || argv[1] != "act" || !strings.Contains(mark, "=act") {
		t.Error(argv, mark, err)
	}
	refused("unknown", "some.Register()")

	// The process that was started so and does not know the verb.
	t.Setenv(startedAs, "act")
	refused("act", `itself started as "act"`)
	if env := strings.Join(Marked([]string{"A=1", startedAs + "=old"}, mark), " "); env != "A=1 "+mark {
		t.Errorf("the environment is %q", env)
	}
	// The one that knows it, and is at depth one again.
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{"program", "act"}
	if !Register("act") {
		t.Error("the verb was not recognised")
	}
	if _, _, err := OwnProgram("act", "some.Register()"); err != nil {
		t.Error(err)
	}
}
