package events

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// tooManyReaders is for a reader that may not wait, too.
func tooManyReaders(frontend, what string) error {
	return &api.Error{Problem: api.Busy, What: what, Subject: "events of frontend " + frontend,
		Tried: "waiting for the next one", Next: "try again, ask without waiting, or raise event_readers", RetryAfter: time.Second}
}
