package viaspark

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pigeon-sched/pigeon/bench/workload"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// maxLine bounds a line of a driver: a job with the most tasks there may be.
const maxLine = 64 * workload.MaxTasksPerJob

// writeJobs writes jobs for a driver. Due times count from zero.
func writeJobs(dst io.Writer, w *workload.Workload, jobs []int, zero int64) error {
	out := bufio.NewWriterSize(dst, 1<<16)
	var line []byte
	for _, i := range jobs {
		job := &w.Jobs[i]
		class := sched.Short
		if job.DeclaredLong {
			class = sched.Long
		}
		line = strconv.AppendInt(line[:0], int64(job.Line), 10)
		line = append(append(line, ' '), class.String()...)
		for _, n := range append([]int64{job.Arrival - zero, job.Estimate}, job.Durations...) {
			line = strconv.AppendInt(append(line, ' '), n, 10)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("end\n"); err != nil {
		return err
	}
	return out.Flush()
}

// said is a line of a driver: that it is ready, or what became of a job. Times are
// ns by its clock, as run.
type said struct {
	Ready *int `json:"ready"` // executors

	Job        int    `json:"job"` // its line in the trace
	Submitted  int64  `json:"submitted"`
	Completion int64  `json:"completion"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	// Of each task: when its result was there after the submission (-1: never), how
	// long it ran, the attempts it took, and the executor.
	Reported  []int64  `json:"reported"`
	Ran       []int64  `json:"ran"`
	Attempts  []int    `json:"attempts"`
	Executors []string `json:"executors"`
}

const completed = "completed"

// maxTime bounds what a driver may say of a time.
const maxTime = math.MaxInt64 / 4

// parse reads a line of a driver. What it gives can be booked.
func parse(line []byte) (*said, error) {
	s := &said{}
	if err := json.Unmarshal(line, s); err != nil {
		return nil, err
	}
	if s.Ready != nil {
		return s, nil
	}
	n := len(s.Reported)
	switch {
	case s.Job < 1:
		return nil, fmt.Errorf("the job %d is no line of a trace", s.Job)
	case s.State != completed && s.State != "failed":
		return nil, fmt.Errorf("a job that ended cannot be %q", s.State)
	case len(s.Ran) != n || len(s.Attempts) != n || len(s.Executors) != n:
		return nil, errors.New("it is of a different number of tasks in each place")
	case !within(s.Submitted) || !within(s.Completion):
		return nil, errors.New("a time is out of bounds")
	}
	for i := range n {
		if s.Reported[i] > maxTime || s.Reported[i] < -1 || !within(s.Ran[i]) || s.Attempts[i] < 0 {
			return nil, fmt.Errorf("what it says of task %d is out of bounds", i)
		}
		if s.State == completed && s.Reported[i] < 0 {
			return nil, fmt.Errorf("it completed without task %d", i)
		}
	}
	return s, nil
}

func within(t int64) bool { return t >= 0 && t <= maxTime }
