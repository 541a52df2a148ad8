package applications

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("want %#v\ngot  %#v", want, got)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q is not in:\n%s", part, text[max(0, len(text)-4000):])
	}
}

// holds ends the test if the condition is false.
func holds(t *testing.T, what string, is bool) {
	t.Helper()
	if !is {
		t.Fatalf("it does not hold that %s", what)
	}
}

// wellEnded waits for the end of an application, with status 0.
func wellEnded(t *testing.T, d *sparktest.Driver) {
	t.Helper()
	if status := d.Wait(t, patience); status != 0 {
		t.Fatalf("%s ended with status %d", d.Name, status)
	}
}

// same compares the answers of a feature's script.
func same(t *testing.T, d *sparktest.Driver, want ...string) {
	t.Helper()
	equal(t, want, said(d.Stdout()))
}
