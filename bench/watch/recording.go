package watch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Bounds of a page; each refusal names the one it met.
const (
	MaxRuns       = 400_000 // of tasks, in one history: about 6 MB of page
	MaxRecordings = 4       // on one page
)

// Queues is where tasks wait.
type Queues string

// Where tasks wait, as far as the history leaves it open.
const (
	Auto     Queues = ""
	AtGroup  Queues = "group"
	AtWorker Queues = "worker"
)

// Options complete a history.
type Options struct {
	Title  string
	Cutoff time.Duration // of the workload's own time; a job is short up to it
	// Speedup multiplies times back to the workload's own; 0 means 1.
	Speedup float64
	// Until ends the picture, in the workload's own time; 0 is the end.
	Until time.Duration
	// Queues overrides where tasks wait.
	Queues Queues
	// Workers is how many there are at least, where they have numbers: those that
	// ran nothing are not in a history.
	Workers int
}

// Recording is a history made ready to be shown. Times are ns from its start.
type Recording struct {
	Title   string
	Span    int64
	Workers []Worker // by group
	Runs    []Run    // in order of start
	Stops   []Stop   // suspensions
	Jobs    []Job    // those that completed, in that order
	// AtWorkers is the share of tasks that waited at workers.
	AtWorkers float64
}

// Worker is a cell of the grid.
type Worker struct {
	Name  string
	Group int // -1: none
}

// Run is one stretch in which a task ran on a worker.
type Run struct {
	Worker     int
	Start, End int64
	// Wait is how long it had been ready before, 0 for a resumed task.
	Wait     int64
	Long     bool
	AtWorker bool // it waited there, not at its group's master

	job int
}

// Stop is a stretch in which a task was suspended on a worker.
type Stop struct {
	Worker   int
	From, To int64
}

// Job is a completed job.
type Job struct {
	Completed, Took int64
	Long            bool
}

// Read reads a history. name is for errors.
func Read(src io.Reader, name string, o Options) (*Recording, error) {
	return read(src, name, o, MaxRuns)
}

func read(src io.Reader, name string, o Options, maxRuns int) (*Recording, error) {
	b := newBuilder(o)
	for events := measure.NewHistoryReader(src, name); ; {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		e.Time = int64(math.Round(float64(e.Time) * b.speedup))
		if b.until > 0 && e.Time > b.until {
			break
		}
		b.add(e)
		if len(b.runs) > maxRuns {
			return nil, fmt.Errorf("history %s has more than %d runs of tasks (the limit of a page); nothing was written; "+
				"end the picture earlier with --until, now at most %v, or record fewer jobs with --jobs", name, maxRuns, time.Duration(e.Time).Round(time.Second))
		}
	}
	r := b.recording(name)
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("history %s has no task that ran; nothing was written; make one with pigeon sim --history FILE, or pigeon-bench replay --history FILE", name)
	}
	return r, nil
}
