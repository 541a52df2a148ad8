package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// MaxHistoryLine bounds one line of a history.
const MaxHistoryLine = 64 << 10

// HistoryReader reads what a HistoryWriter wrote.
type HistoryReader struct {
	name  string
	lines *bufio.Scanner
	line  int
}

// NewHistoryReader reads from src; name is what errors call it.
func NewHistoryReader(src io.Reader, name string) *HistoryReader {
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, MaxHistoryLine)
	return &HistoryReader{name: name, lines: lines}
}

// Next returns the next event, io.EOF after the last, or an error that names
// file and line. Keys it does not know are ignored.
func (h *HistoryReader) Next() (Event, error) {
	h.line++
	if !h.lines.Scan() {
		err := h.lines.Err()
		switch {
		case err == nil:
			return Event{}, io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			return Event{}, h.fault(fmt.Errorf("the line is longer than %d bytes (the limit)", MaxHistoryLine))
		}
		return Event{}, h.fault(err)
	}
	e, err := parseEvent(h.lines.Bytes())
	if err != nil {
		return Event{}, h.fault(err)
	}
	return e, nil
}

func (h *HistoryReader) fault(err error) error {
	return fmt.Errorf("cannot read history %s: line %d: %w; the events before it were read; "+
		"a line is one JSON object with time, job, task, attempt, event and where", h.name, h.line, err)
}

// eventLine is an event as JSON holds it.
type eventLine struct {
	Time    json.Number `json:"time"`
	Job     string      `json:"job"`
	Task    *int        `json:"task"`
	Attempt int         `json:"attempt"`
	Event   string      `json:"event"`
	Where   string      `json:"where"`
}

func parseEvent(line []byte) (Event, error) {
	var l eventLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, fmt.Errorf("it is not such an object (%w)", err)
	}
	text, before := bytes.CutPrefix([]byte(l.Time), []byte("-"))
	at, err := workload.ParseSeconds(text)
	if err != nil {
		return Event{}, fmt.Errorf("time %q: %w", l.Time, err)
	}
	if before {
		at = -at
	}
	e := Event{Time: at, Job: l.Job, Task: OfJob, Attempt: l.Attempt, Event: l.Event, Where: l.Where}
	if l.Task != nil {
		e.Task = *l.Task
	}
	switch {
	case e.Job == "" || e.Event == "":
		return Event{}, errors.New("job or event is missing")
	case l.Task != nil && e.Task < 0 || e.Attempt < 0:
		return Event{}, errors.New("task or attempt is negative")
	}
	return e, nil
}
