package frontend_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func person(r identity.Role, name string) identity.Principal {
	return identity.Principal{Role: r, Name: name, Proof: identity.Token}
}

// denied fails the test unless the error refuses a caller that lacks the permission.
func denied(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Denied || e.What == "" || e.Subject == "" || e.Next == "" {
		t.Errorf("%s: %v", what, err)
	}
}

// The owner that a request states counts only if its submitter may name that owner.
func TestOwnersThatMayBeNamed(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) {
		c.Quotas.Users = []owners.User{{Owner: "team", User: "alice"}}
	})
	listener := identity.Principal{Role: identity.User, Name: "etl", Owner: "etl", Proof: identity.Listener}
	for _, c := range []struct {
		p                  identity.Principal
		owner, group, user string
		want               string // "" when it is refused
	}{
		{p: person(identity.User, "alice"), want: "alice"},
		{p: person(identity.User, "alice"), user: "root", want: "alice"},
		{p: person(identity.User, "alice"), group: "team", user: "alice", want: "team/alice"},
		{p: person(identity.User, "alice"), group: "wheel", user: "alice", want: "alice"},
		{p: person(identity.User, "alice"), owner: "team", want: "team"},
		{p: person(identity.User, "alice"), owner: "team/bob", want: "team/bob"},
		{p: person(identity.User, "alice"), owner: "alice/nightly", want: "alice/nightly"},
		{p: person(identity.User, "alice"), owner: "bob"},
		{p: person(identity.User, "bob"), owner: "team"},
		{p: person(identity.User, "bob"), owner: "made-up/bob"},
		{p: person(identity.Operator, "olga"), owner: "bob", want: "bob"},
		{p: person(identity.Operator, "olga"), want: "olga"},
		{p: person(identity.Viewer, "vera"), owner: "vera"},
		{p: identity.Principal{}},
		{p: listener, owner: "root", user: "root", want: "etl"},
		{p: identity.Self(), owner: "whoever", want: "whoever"},
	} {
		r := sleeps("", 1, time.Hour)
		r.Owner, r.UserGroup, r.User = c.owner, c.group, c.user
		id, _, err := f.As(c.p).Submit(t.Context(), r)
		if c.want == "" {
			denied(t, c.p.String()+" for "+c.owner, err)
			continue
		}
		if err != nil {
			t.Errorf("%v for %q: %v", c.p, c.owner, err)
			continue
		}
		if s, err := f.Status(t.Context(), id); err != nil || s.Owner != c.want || s.Submitter != c.p.Name {
			t.Errorf("%v, owner %q, group %q, user %q: %+v, %v", c.p, c.owner, c.group, c.user, s, err)
		}
	}
}

// A job belongs to its submitter: after a restart, when it has ended, and for a second
// submission under its key.
func TestAJobIsItsSubmitters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	alice, bob, vera := person(identity.User, "alice"), person(identity.User, "bob"), person(identity.Viewer, "vera")
	for _, r := range []*api.Request{sleeps("ends", 1, 0), sleeps("stays", 1, time.Hour)} {
		if _, _, err := f.As(alice).Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.As(vera).Wait(t.Context(), "ends", time.Minute); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for _, key := range []string{"ends", "stays"} {
			length := map[string]time.Duration{"stays": time.Hour}[key]
			_, _, err := f.As(bob).Submit(t.Context(), sleeps(key, 1, length))
			denied(t, "the key of "+key, err)
			if id, duplicate, err := f.As(alice).Submit(t.Context(), sleeps(key, 1, length)); err != nil || !duplicate || id != key {
				t.Errorf("%s again: %q %v %v", key, id, duplicate, err)
			}
			_, err = f.As(bob).Explain(t.Context(), key)
			denied(t, "explaining "+key, err)
			if _, err := f.As(alice).Explain(t.Context(), key); err != nil {
				t.Error(err)
			}
			_, err = f.As(bob).Cancel(t.Context(), key)
			denied(t, "cancelling "+key, err)
			_, err = f.As(bob).TaskLog(t.Context(), wire.LogRequest{Job: key, Stream: "stdout", Limit: 1})
			denied(t, "the output of "+key, err)
			if s, err := f.As(vera).Status(t.Context(), key); err != nil || s.Submitter != "alice" {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
	check()
	f = w.restartFrontend(f)
	check()
	if s, err := f.As(person(identity.Operator, "olga")).Cancel(t.Context(), "stays"); err != nil || !strings.Contains(s.Reason, "operator olga") {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := f.As(vera).Status(t.Context(), "stays"); err != nil || s.State != api.StateCancelled || strings.Contains(s.Reason, "olga") {
		t.Errorf("a viewer sees %+v, %v", s, err)
	}
}

// One user fills its half of a frontend, and another still finds room.
func TestOneUserDoesNotFillTheFrontend(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.MaxTasks, c.MaxBytes = 10, 1<<20 })
	alice, bob := f.As(person(identity.User, "alice")), f.As(person(identity.User, "bob"))
	_, _, err := alice.Submit(t.Context(), sleeps("", 6, time.Hour))
	if e := refusal(t, err); e.Problem != api.Invalid || !strings.Contains(e.What, "limit of 5 for one user (half of max_tasks)") {
		t.Error(err)
	}
	if _, _, err := alice.Submit(t.Context(), sleeps("five", 5, time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, _, err = alice.Submit(t.Context(), sleeps("", 1, time.Hour))
	if e := refusal(t, err); e.Problem != api.Busy || !strings.Contains(e.What, "the unfinished jobs of alice have 5 tasks") {
		t.Error(err)
	}
	if _, _, err := bob.Submit(t.Context(), sleeps("", 5, time.Hour)); err != nil {
		t.Errorf("bob finds no room: %v", err)
	}
	if _, err := alice.Cancel(t.Context(), "five"); err != nil {
		t.Fatal(err)
	}
	large := messages("large", 1, 600<<10)
	_, _, err = alice.Submit(t.Context(), large)
	if e := refusal(t, err); !strings.Contains(e.What, "for one user (half of max_bytes)") {
		t.Error(err)
	}
	if _, _, err := f.As(person(identity.Operator, "olga")).Submit(t.Context(), sleeps("", 5, time.Hour)); err != nil {
		t.Errorf("an operator has no half: %v", err)
	}
}

// An application of the published protocols is known by its user's name, so another user's
// application of the same name receives none of its messages.
func TestApplicationsOfUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	alice, bob := f.As(person(identity.User, "alice")), f.As(person(identity.User, "bob"))
	if err := alice.RegisterFrontend(t.Context(), "etl", "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	message := func(s wire.Scheduler, app string) error {
		return s.FrontendMessage(t.Context(), app, wire.TaskRef{Task: "0", Job: "j", App: "etl"}, 0, []byte("m"))
	}
	if e := refusal(t, message(bob, "etl")); e.Problem != api.NotFound {
		t.Errorf("bob's application etl: %v", e)
	}
	if e := refusal(t, message(bob, "alice›etl")); e.Problem != api.NotFound {
		t.Errorf("bob's application with alice's name: %v", e)
	}
	if err := message(f.As(person(identity.Node, "n-0")), "alice›etl"); err != nil {
		t.Errorf("what a node passes on: %v", err)
	}
	r := messages("", 1, 10)
	r.App = "etl"
	id, _, err := alice.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.Status(t.Context(), id); err != nil || s.App != "alice›etl" {
		t.Errorf("%+v, %v", s, err)
	}
}
