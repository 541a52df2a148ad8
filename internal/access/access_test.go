package access_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

var everyRole = append(append([]identity.Role{identity.Nobody, identity.Superuser}, identity.People...), identity.Daemons...)

// The properties that no row may break.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(access.Actions()).Draw(t, "action")
		for i := 1; i < len(identity.People); i++ {
			if below, above := access.Of(identity.People[i-1], a), access.Of(identity.People[i], a); below > above {
				t.Errorf("%s: %s may do more than %s", a, identity.People[i-1], identity.People[i])
			}
		}
		for _, r := range everyRole {
			switch s := access.Of(r, a); {
			case r == identity.Superuser && s != access.All:
				t.Errorf("%s: a superuser may not", a)
			case access.Of(identity.Nobody, a) > s:
				t.Errorf("%s: %s may do less than who has proven nothing", a, r)
			case r.IsDaemon() && s == access.Own:
				t.Errorf("%s: a %s owns nothing", a, r)
			}
			if access.Of(r, a+"?") != access.Nothing && r != identity.Superuser || access.Of(r+"?", a) > access.Of(identity.Nobody, a) {
				t.Errorf("an action or a role that is not in the table may do something")
			}
		}
	})
}

// The submitter of a job decides for a role that may do a thing only to its own jobs.
func TestAllowOn(t *testing.T) {
	as := func(r identity.Role, name string) identity.Principal {
		return identity.Principal{Role: r, Name: name, Proof: identity.Token}
	}
	for _, c := range []struct {
		p         identity.Principal
		submitter string
		allowed   bool
	}{
		{as(identity.User, "alice"), "alice", true},
		{as(identity.User, "bob"), "alice", false},
		{as(identity.User, ""), "", false}, // a job without a submitter does not belong to every user
		{as(identity.User, "alice"), "", false},
		{as(identity.Operator, "olga"), "alice", true},
		{as(identity.Operator, "olga"), "", true},
		{as(identity.Viewer, "alice"), "alice", false},
		{as(identity.Node, "alice"), "alice", false},
		{identity.Principal{Name: "alice"}, "alice", false},
		{identity.Self(), "alice", true},
	} {
		err := access.AllowOn(c.p, access.EndJob, c.submitter)
		if (err == nil) != c.allowed {
			t.Errorf("%v, a job of %q: %v", c.p, c.submitter, err)
		}
		if err == nil {
			continue
		}
		e, ok := errors.AsType[*api.Error](access.About(err, `job "j"`, "cancelling it"))
		if !ok || e.Problem != api.Denied || e.What == "" || e.Next == "" || e.Subject != `job "j"` || e.Tried != "cancelling it" {
			t.Errorf("%v: the refusal is %v", c.p, err)
		}
	}
}

// A refusal names the principal as which the caller is known, and tells an unknown
// caller how to become known.
func TestRefusalsName(t *testing.T) {
	err := access.Allow(identity.Principal{}, access.Submit)
	if err == nil || !strings.Contains(err.Error(), "an unknown caller may not submit jobs") || !strings.Contains(err.Error(), "--token-file") {
		t.Error(err)
	}
	err = access.Allow(identity.Principal{Role: identity.Viewer, Name: "eve", Proof: identity.Token}, access.Submit)
	if err == nil || !strings.Contains(err.Error(), "viewer eve (token) may not submit jobs") {
		t.Error(err)
	}
	other := errors.New("disk on fire")
	if got := access.About(other, "x", "y"); got != other { //nolint:errorlint // the same value
		t.Error(got)
	}
}

// A listener serves the methods of its services, and one for published clients those of
// Sparrow and Pigeon.
func TestListeners(t *testing.T) {
	alice := identity.Principal{Role: identity.User, Name: "alice", Proof: identity.Token}
	allow := access.For(access.SchedulerService, access.ApplicationService)
	for method, allowed := range map[string]bool{"submit": true, "news": true, "authenticate": true, "drainNode": false, "deliver": false, "becomeRoot": false} {
		if err := allow(alice, method); (err == nil) != allowed {
			t.Errorf("%s: %v", method, err)
		}
	}
	owner := identity.Principal{Role: identity.User, Name: "etl", Owner: "etl", Proof: identity.Listener}
	allow = access.ForPublished(access.SchedulerService)
	for method, allowed := range map[string]bool{"submitJob": true, "registerFrontend": true, "submit": false, "cancelJob": false, "taskLog": false, "deliver": false} {
		if err := allow(owner, method); (err == nil) != allowed {
			t.Errorf("published %s: %v", method, err)
		}
	}
	peers := access.For(access.PeerService)
	if err := peers(alice, "deliver"); err == nil {
		t.Error("a user may speak as a daemon")
	}
	if n := testing.AllocsPerRun(100, func() { _ = peers(identity.Principal{Role: identity.Node, Name: "n"}, "deliver") }); n != 0 {
		t.Errorf("an allowed call costs %v allocations", n)
	}
}
