package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What a task writes.
const (
	Start = "start"
	Runs  = "runs" // from time to time
	End   = "end"
)

// Event is a line that a task wrote.
type Event struct {
	Event   string `json:"event"`
	Job     string `json:"job"` // its key
	ID      string `json:"id"`  // of the job: another one after its frontend has lost its journal
	Task    int    `json:"task"`
	Attempt int    `json:"attempt"`
	Node    string `json:"node"`
	Slot    int    `json:"slot"`
	Pid     int    `json:"pid"`
	Time    Time   `json:"time"`
}

// Append writes an event to a file that several processes append to: a line is one
// write, so lines do not mix.
func Append(dst io.Writer, e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = dst.Write(append(line, '\n'))
	return err
}

// Read returns the events of one file in the order in which they were written. A last
// line without its end belongs to a task that was killed meanwhile and is left out.
func Read(src io.Reader) (events []Event, err error) {
	text, err := io.ReadAll(src)
	if err != nil {
		return nil, err
	}
	complete := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(complete) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("a line of a task's history cannot be read: %w: %s", err, line)
		}
		events = append(events, e)
	}
	return events, nil
}

// ReadFolder returns the events of all files *.jsonl of a folder, in order of time;
// those of one file keep their order.
func ReadFolder(dir string) (events []Event, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".jsonl") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		of, err := Read(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		events = append(events, of...)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return int(min(max(a.Time-b.Time, -1), 1)) })
	return events, nil
}
