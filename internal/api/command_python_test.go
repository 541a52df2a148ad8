package api

import (
	"strings"
	"testing"
)

// A function of Python is shown by its name, and not by the program that unpickles it.
func TestCommandOfAFunction(t *testing.T) {
	of := func(name string, argv ...string) string {
		return (&Request{Name: name, Tasks: []Task{{Payload: Payload{Backend: BackendExec, Exec: &Exec{Argv: argv}}}}}).Command()
	}
	source := strings.Repeat("import pickle\n", 100)
	if got := of("fit", "/usr/bin/python3", "-c", source); got != "python: fit" {
		t.Error(got)
	}
	if got := of("fit", "python3", "-c", "print(1)"); got != "python3 -c 'print(1)'" && !strings.Contains(got, "print(1)") {
		t.Error(got)
	}
}
