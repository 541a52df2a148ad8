package watch

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/webpage"
)

//go:embed page.html
var page string

// Places in page.html where the data and the shared modules go.
const (
	placeOfData    = "/*DATA*/"
	placeOfDrawing = "/*DRAWING*/"
)

// encoded is a Recording as the page holds it. Times are ticks of Unit seconds; a
// list of numbers is base64 of varints.
type encoded struct {
	Title     string   `json:"title"`
	Unit      float64  `json:"unit"`
	Span      int64    `json:"span"`
	Workers   int      `json:"workers"`
	Groups    [][2]int `json:"groups"` // number and size; -1 for workers of no group
	AtWorkers float64  `json:"atWorkers"`
	// Runs: start less the start before, length, wait, worker, and 1 for long + 2
	// for waiting at the worker.
	Runs string `json:"runs"`
	// Stops: from less the from before, length, worker.
	Stops string `json:"stops"`
	// Jobs: completed less the one before, took, 1 for long.
	Jobs string `json:"jobs"`
}

// Write writes the page that plays one or more recordings side by side, all on one
// axis of time.
func Write(w io.Writer, recordings []*Recording) error {
	if n := len(recordings); n == 0 || n > MaxRecordings {
		return fmt.Errorf("a page plays 1 to %d histories, not %d; nothing was written", MaxRecordings, n)
	}
	var all []encoded
	for _, r := range recordings {
		all = append(all, r.encode())
	}
	data, err := json.Marshal(all) // escapes what would end the script
	if err != nil {
		return err
	}
	modules, err := webpage.InlineDrawing()
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(strings.Replace(page, placeOfDrawing, modules, 1), placeOfData)
	out := bufio.NewWriter(w)
	for _, part := range []string{before, string(data), after} {
		if _, err := out.WriteString(part); err != nil {
			return err
		}
	}
	return out.Flush()
}

// ticks is how finely a recording's span is divided.
const ticks = 1_000_000

func (r *Recording) encode() encoded {
	unit := max(1000, r.Span/ticks) // ns
	e := encoded{Title: r.Title, Unit: float64(unit) / 1e9, Span: (r.Span + unit - 1) / unit, Workers: len(r.Workers), AtWorkers: r.AtWorkers}
	for _, w := range r.Workers {
		if n := len(e.Groups); n == 0 || e.Groups[n-1][0] != w.Group {
			e.Groups = append(e.Groups, [2]int{w.Group, 0})
		}
		e.Groups[len(e.Groups)-1][1]++
	}
	var runs, stops, jobs numbers
	last := int64(0)
	for i := range r.Runs {
		run := &r.Runs[i]
		start, end := run.Start/unit, run.End/unit
		runs.add(start-last, max(0, end-start), run.Wait/unit, int64(run.Worker), flag(run.Long, 1)+flag(run.AtWorker, 2))
		last = start
	}
	last = 0
	for _, s := range r.Stops {
		stops.add(s.From/unit-last, (s.To-s.From)/unit, int64(s.Worker))
		last = s.From / unit
	}
	last = 0
	for _, j := range r.Jobs {
		jobs.add(j.Completed/unit-last, j.Took/unit, flag(j.Long, 1))
		last = j.Completed / unit
	}
	e.Runs, e.Stops, e.Jobs = runs.String(), stops.String(), jobs.String()
	return e
}

func flag(set bool, value int64) int64 {
	if set {
		return value
	}
	return 0
}

// numbers are non-negative integers as varints.
type numbers []byte

func (n *numbers) add(values ...int64) {
	for _, v := range values {
		*n = binary.AppendUvarint(*n, uint64(max(0, v))) //nolint:gosec // not negative
	}
}

func (n numbers) String() string { return base64.StdEncoding.EncodeToString(n) }
