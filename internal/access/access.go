package access

import (
	"context"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Allow returns nil when the role of a principal may do an action, at least to its own things, and
// an *api.Error of the kind Denied otherwise.
func Allow(p identity.Principal, a Action) error {
	if Of(p.Role, a) != Nothing {
		return nil
	}
	return denied(p, a)
}

func denied(p identity.Principal, a Action) error {
	next := "ask an operator of the cluster for a role that may; docs/security.md lists them"
	if p.Role == identity.Nobody {
		next = "give a token (--token-file, or spark.pigeon.token.file), or ask an operator of the cluster for one"
	}
	return &api.Error{Problem: api.Denied, What: fmt.Sprintf("%s may not %s", p, a), Next: next}
}

// MaySeePage returns why a principal may not see the HTTP page that is registered under a pattern,
// nil when it may; "" is the pattern of a page that does not exist. A handler whose page shows what
// a user has submitted checks again to whom it belongs.
func MaySeePage(p identity.Principal, pattern string) error {
	if pattern == "" {
		return Allow(p, SeeStates)
	}
	a, ok := Page(pattern)
	if !ok {
		return &api.Error{Problem: api.Denied, Subject: "page " + pattern, What: "it has no row in the table of roles", Tried: "answering a request for it", Next: "report this"}
	}
	return Allow(p, a)
}

// Can reports whether AllowOn returns nil.
func Can(p identity.Principal, a Action, submitter string) bool {
	switch Of(p.Role, a) {
	case All:
		return true
	case Own:
		return submitter != "" && submitter == p.Name
	}
	return false
}

// CanAll reports whether the caller of a call may do an action to everything.
func CanAll(ctx context.Context, a Action) bool { return Of(identity.From(ctx).Role, a) == All }

// AllowOn is Allow for something that another principal may have submitted or registered:
// submitter is the name that was proven then, "" when none was, as for a job that was accepted
// before callers were identified. A thing without a proven owner belongs to no user.
func AllowOn(p identity.Principal, a Action, submitter string) error {
	switch {
	case Can(p, a, submitter):
		return nil
	case Of(p.Role, a) == Nothing:
		return denied(p, a)
	}
	whose := "that of " + submitter
	if submitter == "" {
		whose = "that of nobody who was identified"
	}
	return &api.Error{Problem: api.Denied, What: fmt.Sprintf("%s may not %s that is not its own, and this one is %s", p, a, whose),
		Next: "ask its submitter, or an operator of the cluster"}
}

// Shown returns the status of a job as a principal may see it: for others' jobs without the command
// and the reason of their end, which may quote arguments and the output of a task.
func Shown(p identity.Principal, s api.Status) api.Status {
	if (s.Reason == "" && s.Command == "") || Can(p, SeeJob, s.Submitter) {
		return s
	}
	if s.Reason != "" {
		s.Reason = "not shown: it is a job of another user"
	}
	s.Command = ""
	return s
}

// ShownEvent returns an event as a principal may see it, false for one that it may not: of others'
// jobs it sees their ids, owners and states.
func ShownEvent(p identity.Principal, e *api.Event) (api.Event, bool) {
	switch {
	case e.Job == "" && e.Submitter == "", Can(p, SeeJob, e.Submitter):
		return *e, true
	case !api.IsAboutJobState(e.Type):
		return api.Event{}, false
	}
	state := strings.TrimPrefix(e.Type, "job_")
	return api.Event{
		Index: e.Index, Epoch: e.Epoch, Time: e.Time, Type: e.Type, Severity: e.Severity, Frontend: e.Frontend, Job: e.Job, Owner: e.Owner, Submitter: e.Submitter,
		Message: fmt.Sprintf("job %s: %s; more is not shown: it is a job of another user", e.Job, state),
	}, true
}

// AppScope returns the user to whom the applications of the published protocols that a principal
// runs belong: "" for the daemons' own user and for calls that daemons pass on, the owner of a
// listener that is bound to one, else the principal's name.
func AppScope(p identity.Principal) string {
	switch {
	case p.Role == identity.Superuser, p.Role.IsDaemon():
		return ""
	case p.Owner != "":
		return p.Owner
	}
	return p.Name
}

// About returns a refusal that names what was refused and what was tried; any other error
// stays as it is.
func About(err error, subject, tried string) error {
	e, ok := err.(*api.Error) //nolint:errorlint // the one that Allow or AllowOn has just made
	if !ok || e.Problem != api.Denied {
		return err
	}
	e.Subject, e.Tried = subject, tried
	return e
}

// For returns a function that decides whether a principal may call a method of a listener that
// serves the services. The first service that has the method counts. It allocates nothing for a
// call that is allowed.
func For(services ...string) func(p identity.Principal, method string) error {
	return guard(func(string, string) bool { return true }, services)
}

// ForPublished is For a listener that serves the published methods only.
func ForPublished(services ...string) func(p identity.Principal, method string) error {
	return guard(IsPublished, services)
}

func guard(serves func(service, method string) bool, services []string) func(p identity.Principal, method string) error {
	actions := map[string]Action{}
	for _, s := range append(services, IdentityService) {
		for m, a := range methods[s] {
			if _, twice := actions[m]; !twice && (s == IdentityService || serves(s, m)) {
				actions[m] = a
			}
		}
	}
	return func(p identity.Principal, method string) error {
		a, known := actions[method]
		if !known {
			return &api.Error{Problem: api.Denied, What: fmt.Sprintf("the method %q is not served to anybody here", method), Subject: "call by " + p.String(),
				Next: "check that the address is that of the right port and daemon, of the same version"}
		}
		return Allow(p, a)
	}
}
