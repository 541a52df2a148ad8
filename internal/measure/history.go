package measure

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// What happens in the life of a task, and of a job, in order of its first occurrence. What is
// not reported to frontends is in simulated histories only. A frontend also writes how an attempt
// ended that another one followed: Failed, Lost or "yielded". A reader must accept others: later
// versions may add some.
const (
	Submitted = "submitted" // the job reached its frontend; of the job
	Launched  = "launched"  // the master sent it to a worker; simulated
	Started   = "started"   // it runs
	Suspended = "suspended" // it was stopped to make room; simulated
	Resumed   = "resumed"   // it runs on; simulated
	Ended     = "ended"     // its attempt is over; simulated
	Lost      = "lost"      // its attempt vanished with its worker
	Reported  = "reported"  // the frontend accepted its result
	Completed = "completed" // the last task was reported; of the job
	Failed    = "failed"    // the job ended without success; of the job
	Cancelled = "cancelled" // the job ended because a user cancelled it; of the job
)

// OfJob is the Task of an event that concerns a whole job.
const OfJob = -1

// Event is one line of a history.
type Event struct {
	// Time is in ns from the start of the run (virtual time in a simulation).
	Time int64
	// Job is the job's id live, its key in the trace simulated.
	Job string
	// Task counts from 0; OfJob for the whole job.
	Task int
	// Attempt counts from 1; 0 when there is none yet.
	Attempt int
	// Event is one of the constants above.
	Event string
	// Where names the role it happened at, such as "worker 3".
	Where string
}

// HistoryWriter writes events as JSON Lines. It allocates nothing per event.
type HistoryWriter struct {
	out  *bufio.Writer
	line []byte
}

// NewHistoryWriter writes to dst, buffered: call Flush at the end.
func NewHistoryWriter(dst io.Writer) *HistoryWriter {
	return &HistoryWriter{out: bufio.NewWriterSize(dst, 1<<16)}
}

// Add writes one event. After the first error all further calls return it.
func (h *HistoryWriter) Add(e Event) error {
	b := append(h.line[:0], `{"time":`...)
	if e.Time < 0 {
		b = append(b, '-')
	}
	b = workload.AppendSeconds(b, max(e.Time, -e.Time))
	b = appendString(append(b, `,"job":`...), e.Job)
	if e.Task != OfJob {
		b = strconv.AppendInt(append(b, `,"task":`...), int64(e.Task), 10)
		b = strconv.AppendInt(append(b, `,"attempt":`...), int64(e.Attempt), 10)
	}
	b = appendString(append(b, `,"event":`...), e.Event)
	b = appendString(append(b, `,"where":`...), e.Where)
	h.line = append(b, '}', '\n')
	_, err := h.out.Write(h.line)
	return err
}

// Flush writes out what is buffered.
func (h *HistoryWriter) Flush() error { return h.out.Flush() }

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // a string cannot fail
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
