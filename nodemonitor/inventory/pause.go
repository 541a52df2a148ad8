package inventory

import (
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
)

// quickFailures is the number of failures in a row after which a frontend is called no
// more often than one that answers.
const quickFailures = 6

func pauseAfter(failures int) time.Duration { return connections.PauseAfter(failures) }
