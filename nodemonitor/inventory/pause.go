package inventory

import (
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
)

// quickFailures is after how many failures in a row a frontend is called no more often
// than one that answers.
const quickFailures = 6

func pauseAfter(failures int) time.Duration { return connections.PauseAfter(failures) }
