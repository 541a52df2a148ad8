package outputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Options describe a run.
type Options struct {
	Tasks int
	Bytes int64  // that each task writes
	Slots int    // of the node
	Limit int64  // bytes kept of all ended attempts' outputs (log_limit)
	Read  int    // outputs that are read at the end
	Seed  uint64 // of their choice
	// Progress, if set, is called when a job has ended.
	Progress func(ended int)
}

// Result is what "pigeon-bench outputs" prints; sizes in bytes.
type Result struct {
	Bench       string         `json:"bench"`        // outputs
	Tasks       int            `json:"tasks"`        // in all
	Failed      int            `json:"failed"`       // of them, or without an end
	Bytes       int64          `json:"bytes"`        // that each wrote
	Slots       int            `json:"slots"`        // of the node
	Limit       int64          `json:"log_limit"`    // of the outputs of ended attempts
	Seconds     measure.Number `json:"seconds"`      // from the submission to the last end
	Disk        int64          `json:"disk"`         // the most that the folder of outputs had
	NodeMemory  int64          `json:"node_memory"`  // the most resident memory of the node monitor
	GuardMemory int64          `json:"guard_memory"` // and of its guard
	Checked     int            `json:"checked"`      // outputs that were read at the end
	Whole       int            `json:"whole"`        // of them
	Removed     int            `json:"removed"`      // of them, which is reported
	Cut         int            `json:"cut"`          // of them, which is neither: a part is missing, or there is more than was written
}

// Check refuses options that cannot work.
func (o *Options) Check() error {
	switch {
	case o.Tasks < 1 || o.Tasks > api.MaxTasks:
		return fmt.Errorf("--tasks %d is outside 1 to %d; nothing was started", o.Tasks, api.MaxTasks)
	case o.Bytes < 0 || o.Slots < 1 || o.Limit < 1 || o.Read < 0:
		return fmt.Errorf("--bytes %d, --slots %d, --log-limit %d, --read %d: none is negative, and slots and the limit are above 0; nothing was started", o.Bytes, o.Slots, o.Limit, o.Read)
	}
	return nil
}

// script writes as many bytes as its argument says: lines with the number of the task.
const script = `yes "$PIGEON_TASK" | head -c "$1"`

// Run starts a cluster, runs the tasks, and returns what their outputs cost.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	r := &Result{Bench: "outputs", Tasks: o.Tasks, Bytes: o.Bytes, Slots: o.Slots, Limit: o.Limit}
	var folder string
	c, err := cluster.Start(ctx, cluster.Spec{
		Groups: []int{1}, Slots: o.Slots, Isolation: cluster.Process,
		Configure: func(config any) {
			if c, is := config.(*nodemonitor.Config); is {
				c.LogLimit, folder = o.Limit, c.WorkDir
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[0], MaxConns: 2, CallTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	f := wire.NewSchedulerClient(pool)
	began := time.Now()
	var jobs []string
	for left := o.Tasks; left > 0; left -= jobTasks {
		job, _, err := f.Submit(ctx, o.request(len(jobs), min(left, jobTasks)))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	if err := o.follow(ctx, c, f, jobs, folder, r); err != nil {
		return nil, err
	}
	r.Seconds = measure.Number(time.Since(began).Seconds())
	return r, o.read(ctx, f, jobs, r)
}

// jobTasks is the size of the jobs.
const jobTasks = 100

func (o *Options) request(job, tasks int) *api.Request {
	r := &api.Request{Key: fmt.Sprintf("outputs-%d", job), Backend: api.BackendExec, Class: "short", Tasks: make([]api.Task, tasks)}
	exec := &api.Exec{Argv: []string{"sh", "-c", script, "sh", strconv.FormatInt(o.Bytes, 10)}}
	for i := range r.Tasks {
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: exec}
	}
	return r
}

// follow measures until the jobs have ended.
func (o *Options) follow(ctx context.Context, c *cluster.Cluster, f *wire.SchedulerClient, jobs []string, folder string, r *Result) error {
	completed := 0
	for _, job := range jobs {
		for ended := false; !ended; {
			s, err := f.Wait(ctx, job, time.Second)
			if err != nil {
				return err
			}
			if err := r.measure(c.Pid(cluster.NodeMonitor, 0), folder); err != nil {
				return err
			}
			if ended = s.State.Ended(); ended {
				completed += s.Completed
				o.Progress(completed)
			}
		}
	}
	r.Failed = o.Tasks - completed
	return nil
}

// measure reads what the node uses now.
func (r *Result) measure(node int, folder string) error {
	u, err := childproc.UsageOf(node)
	if err != nil {
		return err
	}
	r.NodeMemory = max(r.NodeMemory, u.RSSMax)
	for _, pid := range childproc.ChildrenStartedWith(node, guard.Verb) {
		if u, err := childproc.UsageOf(pid); err == nil { // else it has ended
			r.GuardMemory = max(r.GuardMemory, u.RSSMax)
		}
	}
	size, err := sizeOf(folder)
	r.Disk = max(r.Disk, size)
	return err
}

// sizeOf returns the bytes of all files below a folder, some of which may be removed meanwhile.
func sizeOf(folder string) (size int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size, err
}

// sample returns the tasks whose outputs are read: half of them the last, which the node still has,
// the others of all.
func (o *Options) sample() (tasks []int) {
	draw := rand.New(rand.NewPCG(o.Seed, 0x0ff)) //nolint:gosec // it is to be repeated
	last := max(0, o.Tasks-o.Read/2)
	for task := last; task < o.Tasks; task++ {
		tasks = append(tasks, task)
	}
	for _, task := range draw.Perm(last) {
		if len(tasks) < o.Read {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// outputReader reads pieces of tasks' outputs, as a frontend does.
type outputReader interface {
	TaskLog(context.Context, wire.LogRequest) (wire.LogChunk, error)
}

// read reads a sample of the outputs.
func (o *Options) read(ctx context.Context, f outputReader, jobs []string, r *Result) error {
	for _, task := range o.sample() {
		found, err := o.readOne(ctx, f, jobs[task/jobTasks], task%jobTasks)
		if err != nil {
			return err
		}
		r.Checked++
		switch found {
		case whole:
			r.Whole++
		case removed:
			r.Removed++
		case other:
			r.Cut++
		}
	}
	return nil
}

// state is what became of an output.
type state int

const (
	whole   state = iota
	removed       // which is reported
	other         // than what the task wrote: a part of it, more, or something else
)

// readOne reads the output of a task and compares it with what the task wrote.
func (o *Options) readOne(ctx context.Context, f outputReader, job string, task int) (state, error) {
	line := strconv.Itoa(task) + "\n"
	for at := int64(0); ; {
		c, err := f.TaskLog(ctx, wire.LogRequest{Job: job, Task: task, Stream: "stdout", Offset: at, Limit: 1 << 20})
		if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.NotFound {
			return removed, nil
		}
		if err != nil {
			return other, err
		}
		if c.Size != o.Bytes || c.Missing > 0 {
			return other, nil
		}
		for i, b := range c.Data {
			if b != line[(at+int64(i))%int64(len(line))] {
				return other, nil
			}
		}
		at += int64(len(c.Data))
		switch {
		case at >= o.Bytes:
			return whole, nil
		case len(c.Data) == 0:
			return other, nil
		}
	}
}
