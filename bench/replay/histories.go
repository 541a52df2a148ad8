package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// origin is the event with which a frontend's history begins, and begins again
// after a restart: its where is the wall-clock instant of time 0.
const origin = "origin"

// ReadHistories joins the histories of frontends of one host: all events in
// order of time, which counts from began.
func ReadHistories(files []string, began time.Time) ([]measure.Event, error) {
	var all []measure.Event
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("a frontend's history cannot be read: %w", err)
		}
		all, err = readHistory(f, path, began, all)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b measure.Event) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

func readHistory(src io.Reader, name string, began time.Time, all []measure.Event) ([]measure.Event, error) {
	offset, known := int64(0), false
	for r := measure.NewHistoryReader(src, name); ; {
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case e.Event == origin:
			at, err := time.Parse(time.RFC3339Nano, e.Where)
			if err != nil {
				return all, fmt.Errorf("history %s: its origin is no instant: %w", name, err)
			}
			offset, known = at.Sub(began).Nanoseconds(), true
		case !known:
			return all, fmt.Errorf("history %s: it has events before its origin", name)
		default:
			e.Time += offset
			all = append(all, e)
		}
	}
}

// Queueing adds to the outcome how long each task waited, according to the frontends'
// histories, and how long the workers ran tasks.
func Queueing(o *experiment.Outcome, w *workload.Workload, events []measure.Event) {
	first, lines := w.FirstTasks(), make(map[string]int, len(w.Jobs))
	arrivals := make([]int64, len(w.Jobs))
	started := make([]int64, len(o.Queueing))
	for i := range w.Jobs {
		arrivals[i] = experiment.Unknown
		lines[strconv.Itoa(w.Jobs[i].Line)] = i
	}
	busy := int64(0)
	for _, e := range events {
		i, ok := lines[strings.TrimLeft(e.Job, "0")]
		if !ok || e.Task >= len(w.Jobs[i].Durations) {
			continue
		}
		switch e.Event {
		case measure.Submitted:
			arrivals[i] = e.Time
		case measure.Started:
			started[first[i]+e.Task] = e.Time
			if arrivals[i] != experiment.Unknown {
				o.Queueing[first[i]+e.Task] = max(0, e.Time-arrivals[i])
			}
		case measure.Reported:
			// Time beyond the duration is that of the report, or suspended.
			busy += min(e.Time-started[first[i]+e.Task], w.Jobs[i].Durations[e.Task])
		}
	}
	o.Facts.Busy = busy
}

// WriteHistory writes joined events as one history, the jobs under their line
// numbers.
func WriteHistory(dst io.Writer, events []measure.Event) error {
	h := measure.NewHistoryWriter(dst)
	for _, e := range events {
		if trimmed := strings.TrimLeft(e.Job, "0"); trimmed != "" {
			e.Job = trimmed
		}
		if err := h.Add(e); err != nil {
			return err
		}
	}
	return h.Flush()
}
