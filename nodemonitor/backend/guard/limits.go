package guard

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
	traced bool          // it stops when its program begins, until it has its limits
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

// start calls fork, which starts a process with these attributes, such that the process has its
// limits before its program does anything: it begins in its cgroup; without one it stops when its
// program begins, as for a debugger, until it has its limits. Where that is forbidden, a process
// that starts others at once may do so before.
func (c *confinement) start(attr *syscall.SysProcAttr, as *User, fork func() (int, error)) (pid int, err error) {
	if c.placed {
		attr.UseCgroupFD, attr.CgroupFD = true, c.fd
	}
	c.traced = c.rlimit && (c.limits.Memory > 0 || c.limits.Processes > 0 && as != nil)
	attr.Ptrace = c.traced
	if pid, err = fork(); c.traced && errors.Is(err, syscall.EPERM) {
		c.traced, attr.Ptrace = false, false
		pid, err = fork()
	}
	c.begun()
	if err != nil {
		return 0, err
	}
	if err = c.bound(pid, as); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it is reaped as an orphan is
	}
	c.release(pid)
	return pid, err
}

// release continues a process that stopped when its program began. It is called by the thread that
// has started it.
func (c *confinement) release(pid int) {
	if !c.traced {
		return
	}
	for unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = syscall.PtraceDetach(pid) // it may have been killed
}

// bound sets the limits of a process that has just begun where there are no cgroups. What it
// starts inherits them.
func (c *confinement) bound(pid int, as *User) error {
	if !c.rlimit {
		return nil
	}
	if err := setLimit(pid, unix.RLIMIT_DATA, c.limits.Memory); err != nil {
		return &limitError{"memory", err}
	}
	if as != nil { // else it would count all processes of the node monitor's user
		if err := setLimit(pid, unix.RLIMIT_NPROC, int64(c.limits.Processes)); err != nil {
			return &limitError{"processes", err}
		}
	}
	if n := niceOf(c.limits.Weight); n > 0 {
		// Neither can fail except for a process that has ended, or for one of a second user within
		// a tenth of a second: then it has the usual weight.
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, n)
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(n)), 0)
	}
	return nil
}

// limitError is why a process that has begun could not be limited. It ends before its program does anything.
type limitError struct {
	of  string
	err error
}

// Error implements error.
func (e *limitError) Error() string { return fmt.Sprintf("limiting its %s: %v", e.of, e.err) }

// Unwrap returns the error of the kernel.
func (e *limitError) Unwrap() error { return e.err }

// startFault puts into words why a process could not be started. That it could not be limited is the fault of the
// node, also for the next one.
func startFault(err error) *Fault {
	f := FaultOf("the process could not be started", err)
	if unlimited, is := errors.AsType[*limitError](err); is {
		if f.ofNode = true; errors.Is(unlimited, syscall.EPERM) {
			f.Next = "give the node monitor the right to limit the processes of other users (CAP_SYS_RESOURCE), or delegate a cgroup v2 to it"
		}
	}
	return f
}

// setLimit sets a resource limit of a process; 0 leaves it as it is. A process that has ended by
// then needs none.
func setLimit(pid, resource int, most int64) error {
	if most <= 0 {
		return nil
	}
	limit := unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
	if err := unix.Prlimit(pid, resource, &limit, nil); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// niceOf returns the nice value by which a process has about a weight: each step of it is a
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
