package frontend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// taskHistory writes the events of every job and task that this frontend sees, as JSON Lines
// in the format of the simulator's histories: time, job, task, attempt, event,
// where. Times are seconds of this frontend's clock; each start of the frontend
// begins with an event "origin" whose where is the wall-clock instant of time 0,
// so that the files of one host can be joined.
//
// A line is written when its event is on the disk of the journal, so no result is
// written twice; the last events before a kill may be missing. A task's
// start is its report less the time it ran, all by this frontend's clock. A start
// and a report also have "clock", when the attempt began and ended by the wall
// clock of its node, in nanoseconds since 1970: of use on one host only.
type taskHistory struct {
	waiting jobs.Queue[lifeEvent]
	file    io.Closer
	out     *bufio.Writer
	where   string
	line    []byte
}

// lifeEvent is one line.
type lifeEvent struct {
	at      sched.Time
	job     string
	task    int32 // -1: the job itself
	attempt int32
	event   string
	where   string // "" for this frontend
	clock   int64  // by the node's wall clock, 0 for none
}

// openTaskHistory opens the file of a frontend. Close must follow.
func openTaskHistory(path, frontend string) (*taskHistory, error) {
	f, err := files.OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be written: %w; name another file in the setting history, or none", err)
	}
	h := &taskHistory{file: f, out: bufio.NewWriterSize(f, 1<<16), where: "frontend " + frontend}
	h.add(&lifeEvent{job: "-", task: -1, event: "origin", where: time.Now().UTC().Format(time.RFC3339Nano)})
	return h, nil
}

// add writes one event. Close reports a failure to write.
func (h *taskHistory) add(e *lifeEvent) {
	b := append(h.line[:0], `{"time":`...)
	b = fmt.Appendf(b, "%d.%09d", int64(max(e.at, 0))/int64(sched.Second), int64(max(e.at, 0))%int64(sched.Second))
	b = appendText(append(b, `,"job":`...), e.job)
	if e.task >= 0 {
		b = strconv.AppendInt(append(b, `,"task":`...), int64(e.task), 10)
		b = strconv.AppendInt(append(b, `,"attempt":`...), int64(e.attempt), 10)
	}
	where := e.where
	if where == "" {
		where = h.where
	}
	b = appendText(append(b, `,"event":`...), e.event)
	b = appendText(append(b, `,"where":`...), where)
	if e.clock != 0 {
		b = strconv.AppendInt(append(b, `,"clock":`...), e.clock, 10)
	}
	h.line = append(b, '}', '\n')
	_, _ = h.out.Write(h.line) // a bufio.Writer keeps its first error for Flush
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string cannot fail
	return append(b, text...)
}

var _ jobs.Observer = (*taskHistory)(nil)

// Observe writes the events of a batch that is on the disk.
func (h *taskHistory) Observe(c jobs.Change) {
	switch c.Kind {
	case jobs.Accepted:
		h.add(&lifeEvent{at: c.Job.Arrived, job: c.Job.Status.Job, task: -1, event: "submitted"})
	case jobs.Recorded:
		h.recorded(&c)
	case jobs.Written:
		h.waiting.Written(c.Batch, h.add)
	case jobs.BatchEnded:
		_ = h.out.Flush() // so that they survive this process; kept by the writer, reported by Close
	default:
	}
}

func (h *taskHistory) recorded(c *jobs.Change) {
	r := c.Record
	e := lifeEvent{at: c.Now, job: c.Job.Status.Job, task: r.First, attempt: r.Attempt, event: "reported"}
	switch {
	case c.Tries():
		e.event = r.Outcome.String()
		for e.task = r.First; e.task < r.First+max(r.Count, 1); e.task++ {
			e.attempt = c.Job.Attempt(e.task)
			h.waiting.Add(c.Batch, e)
		}
	case c.Ends():
		if report := c.Report; report != nil {
			started := e
			started.at -= sched.Time(report.Elapsed)
			started.event, started.where = "started", fmt.Sprintf("worker %s/%d", report.From.Name, report.From.Slot)
			started.clock, e.clock = unixNano(report.Started), unixNano(report.Finished)
			h.waiting.Add(c.Batch, started)
		}
		h.waiting.Add(c.Batch, e)
	case r.Kind == journal.JobEnded:
		e.task, e.attempt, e.event = -1, 0, string(r.Ended.Status.State)
		h.waiting.Add(c.Batch, e)
	}
}

// Close reports whether everything was written.
func (h *taskHistory) Close() error {
	err := h.out.Flush()
	if closed := h.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("the history is not complete: %w", err)
	}
	return nil
}

// unixNano is t.UnixNano, but 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
