package sim

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config is one simulated cluster and how it is watched.
type Config struct {
	Policy    sched.Policy
	Params    sched.Params
	Groups    []int      // workers of each group
	Frontends int        // job k goes to frontend k mod Frontends
	Delay     sched.Time // of a message, one way
	Seed      uint64
	Observer  Observer  // nil for none
	Inspector Inspector // nil for none
	Actions   io.Writer // where the cores' actions are written as text, nil for nowhere
}

// Observer sees the life of every task.
type Observer interface {
	// Event tells that at the given instant something happened to a task of the
	// job with the given index in the workload (task -1: to the job itself). The
	// address is where.
	Event(at sched.Time, job int, task, attempt int32, what string, where sched.Addr)
}

// Inspector may look at the cores between two events; it changes nothing.
type Inspector interface {
	// Arrived tells that so many jobs have arrived, the last one just now.
	Arrived(jobs int, cores func(sched.Role) []sched.Core)
}

// Job is one job of a workload. Its key is its line: what is drawn for a job is drawn
// from (seed, key), simulated and live alike.
type Job struct {
	Line      int
	Arrival   sched.Time
	Estimate  sched.Time // of one task, as the submitter states it
	Long      bool       // the class that the scheduler is told
	Durations []int64    // of each task, in nanoseconds; read, never written
}

// Outcome is what a run gave.
type Outcome struct {
	Jobs        []JobOutcome
	Starts      []sched.Time // first start of every task, jobs one after another
	Completed   int
	Failed      int
	Attempts    int
	Messages    uint64    // between cores; a batch of k tasks counts k
	Sent        [4]uint64 // of these, by the role that sent them
	Suspensions uint64
	Makespan    sched.Time // from time 0 to the last report
	Busy        sched.Time // sum of the time workers ran tasks
	Events      uint64
}

// JobOutcome is how one job fared.
type JobOutcome struct {
	Completion sched.Time // from its arrival to the report of its last task
	FirstTask  int        // index of its first task in Outcome.Starts
	Ended      bool
}

// Valid refuses a cluster that cannot be, or not under its policy.
func (c *Config) Valid() error {
	switch {
	case c.Policy.NewDistributor == nil || c.Policy.NewWorker == nil:
		return fmt.Errorf("the policy %q has no distributor or no worker", c.Policy.Name)
	case c.Frontends < 1:
		return fmt.Errorf("%d frontends: at least one is needed", c.Frontends)
	case len(c.Groups) == 0:
		return fmt.Errorf("no group: at least one is needed")
	case c.Delay < 0:
		return fmt.Errorf("the message delay is negative (%d ns)", c.Delay)
	}
	for i, n := range c.Groups {
		if n < 1 {
			return fmt.Errorf("group %d has %d workers: each needs at least one", i, n)
		}
	}
	return c.whole()
}

// cores is how many workers (slots) one worker core stands for.
func (c *Config) cores() int { return c.Policy.SlotsPerWorker() }

// whole says that the workers make up whole nodes.
func (c *Config) whole() error {
	n := c.cores()
	if c.Policy.Central {
		if total := sum(c.Groups); total%n != 0 {
			return fmt.Errorf("policy %s has nodes of %d cores, and %d workers are not a multiple of that: change one of them", c.Policy.Name, n, total)
		}
		return nil
	}
	for i, size := range c.Groups {
		if size%n != 0 {
			return fmt.Errorf("policy %s has nodes of %d cores, and the %d workers of group %d are not a multiple of that: change one of them", c.Policy.Name, n, size, i)
		}
	}
	return nil
}
