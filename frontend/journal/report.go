package journal

import (
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Report is what Open found.
type Report struct {
	Incarnation uint64            // of the frontend, 1 when the journal is new
	Jobs        int               // unfinished jobs
	Tasks       int               // unfinished tasks of those jobs
	Events      int               // records about them
	Apps        map[string]string // registered applications and where they listen
	Torn        *Torn             // nil when the last process had written all that it began
	Took        time.Duration     // by the clock of the process
	// Scope is that of the ids of the journal's jobs. It is made with the journal.
	Scope sched.JobScope
	// ReportKey is the frontend's key of launch secrets; a journal without one gets one when it
	// is opened.
	ReportKey launchsecret.Key
}

// Torn is the numbers of the batches that the last process began and that are not
// in the store. None of their records was acknowledged as being on the disk.
type Torn struct{ First, Last uint64 }

// String returns the report as a line for a user.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "incarnation %d, %d unfinished jobs with %d unfinished tasks and %d records read back in %v",
		r.Incarnation, r.Jobs, r.Tasks, r.Events, r.Took.Round(time.Millisecond))
	if r.Torn != nil {
		fmt.Fprintf(&b, "; %v had been begun and not acknowledged when the process ended, and were dropped: a job or result that is missing has to be sent again",
			&hole{r.Torn.First, r.Torn.Last})
	}
	return b.String()
}
