package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The notes about a history that lacks one job are about "1 job".
func TestHistoryNotesOfOneJob(t *testing.T) {
	var out bytes.Buffer
	n := &historyNotes{w: &out, seen: map[string]bool{}}
	n.about(&api.HistoryPage{Frontend: "f", Dropped: 1, Removed: 1, Limit: 1})
	if got := out.String(); strings.Count(got, "1 job ")+strings.Count(got, "1 job:") != 2 {
		t.Errorf("the notes are %q", got)
	}
}

// What a frontend says of its history gives the terminal no commands.
func TestHistoryNotesArePrintable(t *testing.T) {
	var out bytes.Buffer
	n := &historyNotes{w: &out, seen: map[string]bool{}}
	n.about(&api.HistoryPage{Frontend: "f", Problem: "open /data\x1b[2J/history: permission denied"})
	if got := out.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, "permission denied") {
		t.Errorf("the note is %q", got)
	}
}
