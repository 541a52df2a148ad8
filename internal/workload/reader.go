package workload

import (
	"errors"
	"fmt"
	"io"
)

// ParseError is the place of the first mistake in a trace.
type ParseError struct {
	// File is the name given to the reader.
	File string
	// Line and Column count from 1; Column counts bytes.
	Line, Column int
	// Found is the text at that place, shortened.
	Found string
	// Expected is what a trace has there.
	Expected string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("cannot read trace %s: line %d, column %d: found %s, expected %s; no job was run; "+
		"correct that line: submit time (s, ascending), number of tasks, mean task duration (s), then each task's duration (s)",
		e.File, e.Line, e.Column, e.Found, e.Expected)
}

// Reader reads a trace job by job; it holds one job in memory at a time.
type Reader struct {
	name    string
	scan    scanner
	last    int64 // arrival of the job before
	jobs    int
	tasks   int
	scratch []int64
}

// NewReader reads the trace in src; name is for errors.
func NewReader(src io.Reader, name string) *Reader {
	return &Reader{name: name, scan: newScanner(src)}
}

// Read reads a whole trace. An empty one is an error.
func Read(src io.Reader, name string) (*Workload, error) {
	r := NewReader(src, name)
	w := &Workload{Name: name}
	for {
		job, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w, nil
		}
		if err != nil {
			return nil, err
		}
		w.Jobs = append(w.Jobs, job)
	}
}

// Next returns the next job, io.EOF after the last, a *ParseError for input that is
// not a trace, or the error of the underlying reader. The job is the caller's.
func (r *Reader) Next() (Job, error) {
	first, err := r.scan.next()
	if err != nil {
		return Job{}, r.readError(err)
	}
	switch first.kind {
	case tokenEnd:
		if r.jobs == 0 {
			return Job{}, r.fault(first, "at least one job")
		}
		return Job{}, io.EOF
	case tokenLineEnd:
		return Job{}, r.onlyEmptyLines(first)
	}
	if r.jobs == MaxJobs {
		return Job{}, r.fault(first, fmt.Sprintf("at most %d jobs", MaxJobs))
	}
	job := Job{Line: r.scan.line}
	if job.Arrival, err = r.arrival(first); err != nil {
		return Job{}, err
	}
	if err := r.rest(&job); err != nil {
		return Job{}, err
	}
	r.jobs++
	return job, nil
}

func (r *Reader) arrival(t token) (int64, error) {
	at, err := r.seconds(t, "the submit time")
	if err != nil {
		return 0, err
	}
	if at < r.last {
		return 0, r.fault(t, fmt.Sprintf("a submit time of at least %s s, that of the job before", AppendSeconds(nil, r.last)))
	}
	r.last = at
	return at, nil
}

// rest reads the line after the submit time.
func (r *Reader) rest(job *Job) error {
	t, err := r.number("the number of tasks")
	if err != nil {
		return err
	}
	count, err := r.count(t)
	if err != nil {
		return err
	}
	if t, err = r.number("the mean task duration (s)"); err != nil {
		return err
	}
	if job.Estimate, err = r.seconds(t, "the mean task duration"); err != nil {
		return err
	}
	if err := r.durations(count); err != nil {
		return err
	}
	job.Durations = append([]int64(nil), r.scratch...)
	r.scan.limit = maxField
	defer func() { r.scan.limit = maxToken }()
	var had given
	for {
		if t, err = r.scan.next(); err != nil {
			return r.readError(err)
		}
		if t.kind != tokenText {
			return nil
		}
		if err := r.field(t, job, count, &had); err != nil {
			return err
		}
	}
}

func (r *Reader) durations(count int) error {
	r.scratch = r.scratch[:0]
	var work int64
	for i := range count {
		t, err := r.scan.next()
		if err != nil {
			return r.readError(err)
		}
		if t.kind != tokenText {
			return r.fault(t, fmt.Sprintf("the duration of task %d of %d (column 2 is %d)", i+1, count, count))
		}
		d, err := ParseSeconds(t.text)
		if err != nil {
			return r.badSeconds(t, fmt.Sprintf("the duration of task %d of %d", i+1, count), err)
		}
		if work += d; work > MaxSeconds*1e9 {
			return r.fault(t, fmt.Sprintf("a job of at most %d s of work (the sum of its task durations)", MaxSeconds))
		}
		r.scratch = append(r.scratch, d)
	}
	return nil
}

// count reads the number of tasks: digits only, 1 to MaxTasksPerJob.
func (r *Reader) count(t token) (int, error) {
	n := 0
	for _, c := range t.text {
		if c < '0' || c > '9' {
			return 0, r.fault(t, "the number of tasks, a whole number")
		}
		n = min(n*10+int(c-'0'), MaxTasksPerJob+1)
	}
	if n == 0 || n > MaxTasksPerJob {
		return 0, r.fault(t, fmt.Sprintf("1 to %d tasks per job (the limit)", MaxTasksPerJob))
	}
	if r.tasks += n; r.tasks > MaxTasks {
		return 0, r.fault(t, fmt.Sprintf("at most %d tasks in a trace (the limit)", MaxTasks))
	}
	return n, nil
}

func (r *Reader) number(what string) (token, error) {
	t, err := r.scan.next()
	if err != nil {
		return t, r.readError(err)
	}
	if t.kind != tokenText {
		return t, r.fault(t, what)
	}
	return t, nil
}

func (r *Reader) seconds(t token, what string) (int64, error) {
	ns, err := ParseSeconds(t.text)
	if err != nil {
		return 0, r.badSeconds(t, what, err)
	}
	return ns, nil
}

// onlyEmptyLines accepts empty lines at the end of a trace. Between jobs they
// would make line numbers, which are the keys of jobs, differ from job numbers.
func (r *Reader) onlyEmptyLines(empty token) error {
	for {
		t, err := r.scan.next()
		if err != nil {
			return r.readError(err)
		}
		switch t.kind {
		case tokenText:
			return r.fault(empty, "a job (empty lines may only end a trace)")
		case tokenEnd:
			if r.jobs == 0 {
				return r.fault(empty, "at least one job")
			}
			return io.EOF
		}
	}
}
