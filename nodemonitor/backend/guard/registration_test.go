package guard

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// unregistered makes the test binary one that does not know the guard's verb. Its value
// has a letter for each time that the binary was started.
const unregistered = "GUARD_TEST_UNREGISTERED"

// careless starts a process under a guard, as a program that does not know the verb. It
// ends at a depth that no program should reach.
func careless(deep string) {
	if len(deep) > 3 {
		os.Exit(1)
	}
	if err := os.Setenv(unregistered, deep+"x"); err != nil {
		panic(err)
	}
	c := New(Options{})
	ended := make(chan Event, 2)
	if _, err := c.Start(Spec{Argv: []string{"true"}, Dir: "/"}, func(e Event) { ended <- e }); err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "started as", os.Args[1:], "ended", (<-ended).Fault)
	c.Close(0)
	os.Exit(0)
}

// A program that did not register the verb would start itself forever.
func TestProgramThatDidNotRegisterStartsNoGuard(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run", "^$")
	cmd.Env = append(os.Environ(), unregistered+"=x")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "refused:") || !strings.Contains(text, "guard.Register()") {
		t.Fatalf("%v\n%s", err, text)
	}
}
