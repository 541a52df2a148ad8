package driver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// maxLine bounds an answer: the record of a job with the most tasks there may be.
const maxLine = 64 * workload.MaxTasksPerJob

// WriteJobs sends jobs of a workload for the next replay. Due times count from zero.
func (d *Driver) WriteJobs(w *workload.Workload, jobs []int, zero int64) error {
	return writeJobs(d.in, w, jobs, zero)
}

func writeJobs(dst io.Writer, w *workload.Workload, jobs []int, zero int64) error {
	out := bufio.NewWriterSize(dst, 1<<16)
	var line []byte
	for _, i := range jobs {
		job := &w.Jobs[i]
		line = strconv.AppendInt(append(line[:0], "job "...), int64(job.Line), 10)
		line = append(append(line, ' '), job.DeclaredClass().String()...)
		for _, n := range append([]int64{job.Arrival - zero, job.Estimate}, job.Durations...) {
			line = strconv.AppendInt(append(line, ' '), n, 10)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Replay is the command that replays the jobs that were sent.
const Replay = "replay"

// Answer is a line of a driver's output. One of its fields is set.
type Answer struct {
	Ready   *int // that it is ready, and how many executors it waited for
	Record  *Record
	Seconds []float64 // the answer to a command, not nil
}

// Record is the outcome of a replayed job. Times are in nanoseconds by the driver's clock.
type Record struct {
	Job        int    `json:"job"`       // its line in the trace
	Submitted  int64  `json:"submitted"` // after the start of the replay
	Completion int64  `json:"completion"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	// Of each task: when the driver had its result, after the submission (-1: never),
	// how long it ran, how many attempts it took, and the executor.
	Reported  []int64  `json:"reported"`
	Ran       []int64  `json:"ran"`
	Attempts  []int    `json:"attempts"`
	Executors []string `json:"executors"`
}

// Completed is the state of a job that did not fail.
const Completed = "completed"

const failed = "failed"

// maxTime bounds the times of a record.
const maxTime = math.MaxInt64 / 4

// parse reads a line of a driver. The record of an answer is consistent in itself.
func parse(line []byte) (*Answer, error) {
	var got struct {
		Ready   *int            `json:"ready"`
		Seconds json.RawMessage `json:"seconds"`
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return nil, err
	}
	switch {
	case got.Ready != nil:
		return &Answer{Ready: got.Ready}, nil
	case got.Seconds != nil:
		seconds, err := parseSeconds(got.Seconds)
		return &Answer{Seconds: seconds}, err
	}
	r := &Record{}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	return &Answer{Record: r}, r.check()
}

// parseSeconds reads one number, or a list.
func parseSeconds(text json.RawMessage) ([]float64, error) {
	var one float64
	if err := json.Unmarshal(text, &one); err == nil {
		return []float64{one}, nil
	}
	list := []float64{}
	err := json.Unmarshal(text, &list)
	return list, err
}

// check refuses a record that no driver of this version writes.
func (r *Record) check() error {
	n := len(r.Reported)
	switch {
	case r.Job < 1:
		return fmt.Errorf("the job %d is no line of a trace", r.Job)
	case r.State != Completed && r.State != failed:
		return fmt.Errorf("a job that ended cannot be %q", r.State)
	case len(r.Ran) != n || len(r.Attempts) != n || len(r.Executors) != n:
		return errors.New("its lists have different numbers of tasks")
	case !within(r.Submitted) || !within(r.Completion):
		return errors.New("a time is out of bounds")
	}
	for i := range n {
		if r.Reported[i] > maxTime || r.Reported[i] < -1 || !within(r.Ran[i]) || r.Attempts[i] < 0 {
			return fmt.Errorf("a value of task %d is out of bounds", i)
		}
		if r.State == Completed && r.Reported[i] < 0 {
			return fmt.Errorf("it completed without task %d", i)
		}
	}
	return nil
}

func within(t int64) bool { return t >= 0 && t <= maxTime }
