package guard

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// usualWeight is the weight of a process for which none is stated.
const usualWeight = 100

// bounded reports whether a cgroup of its own is needed.
func (l *Limits) bounded() bool { return l.Memory > 0 || l.CPUs > 0 || l.Processes > 0 }

// confinement is how the limits of one process are enforced.
type confinement struct {
	limits Limits
	placed bool // it starts in the cgroup of fd, else in that of the guard
	fd     int
	group  *cgroup.Group // its own, nil for none
	rlimit bool          // there is no tree of cgroups
}

// confine makes the cgroup of a process that needs one. It runs concurrently with the loop.
func confine(tree *cgroup.Tree, l Limits, mark string) (confinement, *Fault) {
	c := confinement{limits: l, rlimit: tree == nil}
	var err error
	switch {
	case tree == nil:
	case l.bounded():
		c.group, err = tree.Make(mark, cgroup.Limits(l))
		if err == nil {
			c.fd, c.placed = c.group.FD(), true
		}
	case l.Weight != 0:
		c.fd, err = tree.Shared(l.Weight)
		c.placed = err == nil
	}
	if err != nil {
		return confinement{}, &Fault{
			What: "its cgroup could not be made: " + err.Error(),
			Next: "see that nothing else manages the cgroup " + tree.Root() + ", or set cgroup: off for the node", ofNode: true,
		}
	}
	return c, nil
}

// bound gives the weight of a process, which has a session now, to the scheduler's group of that session.
func (c *confinement) bound(pid int) {
	if n := niceOf(c.limits.Weight); c.rlimit && n > 0 {
		// It fails for a process that has ended, or for one of a second user within a tenth of a second: then it has
		// the usual weight.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(n)), 0)
	}
}

// startFault puts into words why a process could not be started.
func startFault(err error) *Fault { return FaultOf("the process could not be started", err) }

// niceOf returns the nice value that gives a process about a weight: each step of it is a
// quarter (sched(7)).
func niceOf(weight int) int {
	if weight <= 0 || weight >= usualWeight {
		return 0
	}
	return min(int(math.Round(math.Log(float64(usualWeight)/float64(weight))/math.Log(1.25))), 19)
}

// begun closes what was needed for the start.
func (c *confinement) begun() {
	if c.group != nil {
		c.group.CloseFD()
	}
}

// drop removes the cgroup of a process that did not begin.
func (s *server) drop(c *confinement) {
	if g := c.group; g != nil {
		s.removing.Go(func() { remove(g) })
	}
}

// remove removes a cgroup; what was just killed there may take a moment to end.
func remove(g *cgroup.Group) {
	for range 100 {
		if g.Remove() {
			return
		}
		time.Sleep(sweepEvery)
	}
}

// measure adds to the last event of a process what it has used, and which limit ended it. The
// files of a cgroup are read concurrently with the loop, like the output.
func (s *server) measure(c *child) {
	l := &c.confined.limits
	c.event.Peak = s.peaks.of(c.event.Peak)
	if c.confined.group == nil {
		failed := c.event.Status.Signaled() || c.event.Status.ExitStatus() != 0
		// A program whose allocation failed may end in any way: how much memory it had decides.
		c.event.OutOfMemory = c.confined.rlimit && l.Memory > 0 && failed && !c.killed && c.event.Peak >= l.Memory/4*3
		return
	}
	c.open++
	g := c.confined.group
	s.removing.Go(func() {
		u := g.Usage()
		s.poll.post(func() { s.measured(c, u) })
		remove(g)
	})
}

func (s *server) measured(c *child, u cgroup.Usage) {
	c.open--
	if u.Peak > 0 {
		c.event.Peak = u.Peak
	}
	c.event.OutOfMemory = u.OOMKills > 0
	c.event.AtProcessLimit = u.ForksRefused > 0
	s.finishIfEnded(c)
}

// removeGroups removes the cgroups of what reapAll has killed, and waits until those of what ended
// before are removed. What stays, the next guard removes.
func (s *server) removeGroups() {
	for _, c := range s.handles {
		if g := c.confined.group; g != nil && !c.exited {
			s.removing.Go(func() { remove(g) })
		}
	}
	s.removing.Wait()
}

// reapUsage reaps an ended child and returns the most memory, in bytes, that it or one process
// that it has waited for had at once, as the kernel counts it (peaks).
func reapUsage(pid int) (status syscall.WaitStatus, peak int64) {
	for {
		var usage syscall.Rusage
		if _, err := syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
			return status, usage.Maxrss * 1024
		}
	}
}

// LimitState describes by what means the limits of processes are enforced.
type LimitState struct {
	Cgroup string   // the folder of the delegated cgroup, "" for rlimits
	Lacks  []string // controllers that the cgroup does not have
	Why    string   // why there is no cgroup
}

// Enforces returns by what means limits are enforced.
func (c *Client) Enforces() LimitState { return c.enforces }

// By returns "cgroup" or "rlimit".
func (e *LimitState) By() string {
	if e.Cgroup != "" {
		return "cgroup"
	}
	return "rlimit"
}

// String returns it as a sentence without an end.
func (e *LimitState) String() string {
	switch {
	case e.Cgroup == "":
		return "by rlimits, because " + e.Why + ": the memory of each process of a task is limited (RLIMIT_DATA), long tasks are nicer, with run_as the processes of a user are counted together, and processors are not limited"
	case len(e.Lacks) > 0:
		return "by cgroup v2 below " + e.Cgroup + ", which has no controller for " + strings.Join(e.Lacks, " and ") + ", so that these are not limited"
	default:
		return "by cgroup v2 below " + e.Cgroup
	}
}

// openTree finds the delegated cgroup.
func openTree(setting string) LimitState {
	tree, err := cgroup.Open(setting)
	if err != nil {
		return LimitState{Why: err.Error()}
	}
	return LimitState{Cgroup: tree.Root(), Lacks: tree.Lacks()}
}
