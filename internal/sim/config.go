package sim

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config describes one simulated cluster and how it is observed.
type Config struct {
	Policy    sched.Policy
	Params    sched.Params
	Groups    []int      // workers of each group
	NodeSlots []int      // slots of the nodes of each group, in turn and again from the first; nil: nodes of one slot. Faults off only
	Frontends int        // job k goes to frontend k mod Frontends
	Delay     sched.Time // of a message, one way
	Seed      uint64
	Shares    []sched.Share // of owners, sent to every master at its start; nil for none
	HalfLife  sched.Time    // with them
	Losses    MasterLosses  // of masters, faults off only
	Learned   bool          // frontends learn classes and estimates from earlier jobs; faults off only
	Observer  Observer      // nil for none
	Inspector Inspector     // nil for none
	Actions   io.Writer     // receives the cores' actions as text; nil for none
}

// Observer is notified of every event in the life of a task.
type Observer interface {
	// Event is called for an event of a task of the job with the given index in the
	// workload; task -1 stands for the job itself. The event happened at the core
	// with the address where.
	Event(at sched.Time, job int, task, attempt int32, what string, where sched.Addr)
}

// Inspector examines the cores between two events. It must not change them.
type Inspector interface {
	// Arrived is called when a job has arrived, with the number of jobs so far.
	Arrived(jobs int, cores func(sched.Role) []sched.Core)
}

// Job is one job of a workload. Its line is its key: every draw for a job depends on
// (seed, key) alone, in simulation as in live runs.
type Job struct {
	Line       int
	Arrival    sched.Time
	Estimate   sched.Time // of one task, as the submitter states it; 0 if it states none
	Long       bool       // the declared class
	Undeclared bool       // the class was not declared
	Owner      string     // the owner for which it runs
	Name       string     // of the work, "" for none
	Priority   int32      // among the jobs of the owner
	Slots      int32      // of one node, that each task takes; 0 is one
	Gang       bool       // its tasks start together
	Durations  []int64    // of each task, in nanoseconds; read, never written
}

// Outcome is the result of a run.
type Outcome struct {
	Jobs        []JobOutcome
	Starts      []sched.Time // first start of every task, in the order of jobs
	Completed   int
	Failed      int
	Attempts    int
	Messages    uint64    // between cores; a message with k tasks counts k times
	Sent        [4]uint64 // of these, by the role that sent them
	Suspensions uint64
	Makespan    sched.Time // from time 0 to the last report
	Busy        sched.Time // total time that workers ran tasks
	Groups      []int32    // by whose master every task was launched, in the order of jobs, where jobs demand more than a slot; else nil
	Held        sched.Time // total time that slots were idle because of claims although a unit task waited
	Events      uint64
}

// JobOutcome is the result of one job.
type JobOutcome struct {
	Completion sched.Time // from its arrival to the report of its last task
	FirstTask  int        // index of its first task in Outcome.Starts
	Ended      bool
}

// Valid returns an error if the cluster is impossible, or impossible under its policy.
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
	if err := c.Losses.Check(&c.Policy); err != nil {
		return err
	}
	for _, n := range c.NodeSlots {
		if n < 1 || n > sched.MaxSlots {
			return fmt.Errorf("a node has %d slots: each needs 1 to %d", n, sched.MaxSlots)
		}
	}
	for i, n := range c.Groups {
		if n < 1 {
			return fmt.Errorf("group %d has %d workers: each needs at least one", i, n)
		}
	}
	return c.whole()
}

// setShares returns the message with the configured shares, nil without any.
func (c *Config) setShares() *sched.Message {
	if len(c.Shares) == 0 && c.HalfLife == 0 {
		return nil
	}
	return &sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: c.Shares, HalfLife: c.HalfLife}}
}

// cores returns the number of slots that one worker core stands for.
func (c *Config) cores() int { return c.Policy.SlotsPerWorker() }

// whole returns an error unless the workers divide evenly into nodes.
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
