package application

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Whoever waits for memory is told who holds it, on each node.
func TestWhyNowhereNamesTheHolders(t *testing.T) {
	d := newDesk(t, "a")
	d.serve(3) // 900 MB of the node's 1000
	d.round()
	d.nodes["a"].used = 950 // 50 of an application of another frontend
	b := api.Application{ID: "late", Incarnation: 1, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: 200}}
	if err := d.register(&b, d.now); err != nil {
		t.Fatal(err)
	}
	why := d.whyNowhere(d.apps["late"], 2, d.now)
	for _, part := range []string{`2 executors of 200 MB each of application "late"`, `node "a" has 1000 MB`, "950 MB of them taken (app 900 MB, applications of other frontends 50 MB)", "give executors less memory"} {
		if !strings.Contains(why, part) {
			t.Errorf("%q does not say %q", why, part)
		}
	}
}

// An executor that is gone with its node is no failure of its application's.
func TestLostNodeIsNobodysFault(t *testing.T) {
	d := newDesk(t, "a")
	a := d.serve(1)
	d.round()
	d.lose("a", d.now)
	told := a.news.states[0] // another one waits, which is told too
	if told.State != api.ExecutorExited || told.ExitStatus != -1 {
		t.Errorf("%+v", told)
	}
}
