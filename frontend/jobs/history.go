package jobs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// History writes the events of every job and task that this frontend sees, as JSON Lines
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
type History struct {
	file  io.Closer
	out   *bufio.Writer
	where string
	line  []byte
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

// OpenHistory opens the file of a frontend. Close must follow.
func OpenHistory(path, frontend string) (*History, error) {
	f, err := files.OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be written: %w; name another file in the setting history, or none", err)
	}
	h := &History{file: f, out: bufio.NewWriterSize(f, 1<<16), where: "frontend " + frontend}
	h.add(lifeEvent{job: "-", task: -1, event: "origin", where: time.Now().UTC().Format(time.RFC3339Nano)})
	return h, nil
}

// add writes one event. Close reports a failure to write.
func (h *History) add(e lifeEvent) {
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

// flush writes the buffered events to the file, so that they survive this process.
func (h *History) flush() {
	if h != nil {
		_ = h.out.Flush() // kept by the writer, reported by Close
	}
}

// Close reports whether everything was written.
func (h *History) Close() error {
	err := h.out.Flush()
	if closed := h.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("the history is not complete: %w", err)
	}
	return nil
}

// write writes the events of a batch that is on the disk.
func (h *History) write(events []lifeEvent) {
	for i := range events {
		h.add(events[i])
	}
}

// unixNano is t.UnixNano, but 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
