package listeners

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// noRoom refuses an application: messages wait for all others, or for all of its user.
func noRoom(app, user string, same bool) error {
	what := fmt.Sprintf("%d applications are registered, which is the limit, and messages wait for all", MaxApplications)
	if same {
		what = fmt.Sprintf("%d applications of %s are registered, which is the limit for one user, and messages wait for all", MaxApplications/userPart, user)
	}
	return &api.Error{Problem: api.Busy, What: what, Subject: fmt.Sprintf("application %q", app), Tried: "registering it", Next: "use another frontend", RetryAfter: time.Minute}
}

// stopping is for an application that registers too late.
func stopping(app string) error {
	return &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("application %q", app), Next: "try again when it is back"}
}

// notListening is for a message to an application that has not registered.
func notListening(app, task string) error {
	return &api.Error{Problem: api.NotFound, What: "no application of that name has registered where it listens", Subject: fmt.Sprintf("application %q", app),
		Tried: fmt.Sprintf("passing a message of task %s on", task), Next: "call registerFrontend first"}
}

// tooManyWait is for a message that finds no room.
func tooManyWait(err error, app, address string) error {
	return &api.Error{Problem: api.Busy, What: err.Error(), Subject: fmt.Sprintf("application %q at %s", app, address),
		Tried: "queueing one more", Next: "see whether the application still answers", RetryAfter: time.Second}
}
