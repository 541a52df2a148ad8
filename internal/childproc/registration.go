package childproc

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// startedAs is the variable that tells a process that its own program started it,
// and as what. A process that becomes what the verb says removes it; one that still has
// it runs something else instead, and may start nothing more.
const startedAs = "PIGEON_STARTED_AS"

// own is what this program has registered.
var own struct {
	mu    sync.Mutex
	verbs []string
}

// Register declares that this program, started with one of the verbs as its first
// argument, becomes what the verb says. Only then may it start itself that way: a
// program that does not know the verb, such as a test binary, would run from its
// beginning again, start itself again, and so on. Call it first in main or TestMain. It
// reports whether this process was started with one of the verbs.
func Register(verbs ...string) bool {
	own.mu.Lock()
	own.verbs = append(own.verbs, verbs...)
	own.mu.Unlock()
	if len(os.Args) < 2 || !slices.Contains(verbs, os.Args[1]) {
		return false
	}
	_ = os.Unsetenv(startedAs) // fails for malformed names only
	return true
}

// OwnProgram returns the command that starts this program with the verb, and what to add
// to its environment. It refuses a verb that was not registered; call names what
// registers it.
func OwnProgram(verb, call string) (argv []string, env string, err error) {
	own.mu.Lock()
	known := slices.Contains(own.verbs, verb)
	own.mu.Unlock()
	refuse := func(what, next string) error {
		return &api.Error{Problem: api.Internal, What: what, Subject: "program " + os.Args[0], Tried: fmt.Sprintf("starting itself as %q", verb), Next: next}
	}
	if !known {
		return nil, "", refuse("it has not registered that it knows this verb, and would run from its beginning again", "call "+call+" first in its main or TestMain")
	}
	if as := os.Getenv(startedAs); as != "" {
		return nil, "", refuse(fmt.Sprintf("this process was itself started as %q and runs something else", as), "register that verb first in main or TestMain, before anything starts a process")
	}
	return []string{"/proc/self/exe", verb}, startedAs + "=" + verb, nil // also when the file was replaced since
}

// Marked returns the environment with what OwnProgram adds to it.
func Marked(env []string, mark string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, startedAs+"=") })
	return append(env, mark)
}
