package application

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func notRegistered(app string) error {
	return &api.Error{Problem: api.NotFound, What: "it is not registered here", Subject: subject(app), Tried: "receiving a file of it", Next: "register it first"}
}

func subject(id string) string { return "application " + strconv.Quote(id) }

// executorGone is why an executor does not serve its application any more.
func executorGone(p *executor, app, why string) *api.Error {
	return &api.Error{What: why, Subject: fmt.Sprintf("executor %s of application %q on node %q", p.id, app, p.node), Next: "nothing; another one is started elsewhere"}
}

// wasStopped is for an application that a user has stopped.
func wasStopped(app, why, here string) error {
	return &api.Error{Problem: api.Invalid, What: "it was stopped: " + why, Subject: subject(app), Tried: "serving it at here " + here,
		Next: "start it again if that was an error"}
}

// otherSize is for a file that is known with another size.
func otherSize(f api.File, known int64) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it is known with %d bytes, not %d", known, f.Size), Subject: fmt.Sprintf("file of an application with the SHA-256 %.64q", f.SHA256),
		Tried: "receiving it", Next: "send its actual hash and size"}
}

// notAnnounced is for a file that an application did not name when it registered.
func notAnnounced(app, sha256 string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it has not announced a file with the SHA-256 %.64q", sha256), Subject: subject(app),
		Tried: "receiving a file of it; nothing was accepted", Next: "register the application with this file"}
}

// fitNowhere is why executors have no node.
func fitNowhere(a *application, n int, what string) *api.Error {
	return &api.Error{
		What: what, Subject: fmt.Sprintf("%d executors of %d MB each of application %q", n, a.Template.Memory, a.ID), Tried: "finding nodes for them",
		Next: "give executors less memory, end other applications, or add nodes or memory (the nodes' setting memory); it is tried again when anything changes",
	}
}

// notHere is for an application under a policy that serves none.
func notHere(app, why, here string) error {
	return &api.Error{Problem: api.Invalid, What: why, Subject: subject(app), Tried: "registering it at frontend " + here, Next: "run the cluster with policy pigeon"}
}

// tooMuchOfOne is for an application with which its submitter would have too much.
func tooMuchOfOne(app string) *api.Error {
	return &api.Error{Problem: api.Busy, Subject: subject(app), Tried: "registering it", Next: "end one, or register with another frontend", RetryAfter: time.Second}
}

// badRegistration is for an application that cannot be registered now.
func badRegistration(p api.Problem, app, what, next string, after time.Duration) error {
	return &api.Error{Problem: p, What: what, Subject: subject(app), Tried: "registering it", Next: next, RetryAfter: after}
}

// notKnown is for an application that is not registered.
func notKnown(app, here string) error {
	return &api.Error{Problem: api.NotFound, What: "it is not registered here, or another process has its id", Subject: subject(app),
		Tried: "looking it up at frontend " + here, Next: "register it again"}
}

// inConflict is for an application whose id another process has.
func inConflict(app, why string) error {
	return &api.Error{Problem: api.Invalid, What: why, Subject: subject(app), Tried: "serving it", Next: "choose another id, or end the other application"}
}
