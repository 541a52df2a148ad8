package api

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// MinDisconnect and MaxDisconnect bound Request.MaxDisconnect, unless it is 0.
const (
	MinDisconnect = time.Second
	MaxDisconnect = 24 * time.Hour
)

// Limits of one request.
const (
	MaxTasks       = sched.MaxTasks // of a job
	MaxKeyBytes    = 256            // of an idempotency key, an application's or user's name, a task id
	MaxRetries     = 100
	MaxPayload     = 1 << 20   // bytes of one task's message
	MaxScript      = 256 << 10 // bytes of a script that is sent with its job
	MaxExecStrings = 4096      // arguments and variables of one exec task
	// MaxProcesses bounds the arguments, variables and scripts of a job's tasks in bytes; of tasks
	// that run the same process it counts once, else also what they share counts for each.
	MaxProcesses = 64 << 20
	// MaxSleep bounds the sleep of a task: nodes add it to how long they have run.
	MaxSleep = MaxTimeLimit
)

// Validate returns an *[Error] when the job can never run; it names the task at fault.
func (r *Request) Validate() error {
	switch {
	case len(r.Tasks) > MaxTasks:
		return r.bad(fmt.Sprintf("it has %d tasks, more than the limit of %d a job", len(r.Tasks), MaxTasks), "split it into several jobs")
	case len(r.Tasks) == 0:
		return r.bad("it has no task", "give at least one")
	case len(r.Key) > MaxKeyBytes || len(r.App) > MaxKeyBytes || len(r.User) > MaxKeyBytes || len(r.UserGroup) > MaxKeyBytes:
		return r.bad(fmt.Sprintf("its key, application, user name or user's group is longer than %d bytes", MaxKeyBytes), "use a shorter one")
	case r.App == "" && r.Backend == BackendApp: // no backend can register for it, and a core takes it for a task that any slot can run
		return r.bad("it names no application, and its tasks are for a backend of one", "give the name with which the backends register (app)")
	case r.Class != "" && r.Class != "short" && r.Class != "long":
		return r.bad(fmt.Sprintf("its class is %q", clipped(r.Class)), `use "short", "long", or leave it out`)
	case r.EstimateSet && r.Estimate <= 0:
		return r.bad(fmt.Sprintf("its estimate is %v", r.Estimate), "give a duration above zero, or leave it out")
	case math.IsNaN(r.AvgMillis) || math.IsInf(r.AvgMillis, 0) || r.AvgMillis < 0 || r.AvgMillis > 1e12:
		return r.bad(fmt.Sprintf("its avgTasksExecDuration is %v ms", r.AvgMillis), "give a number of milliseconds of 0 or more, at most 1e12")
	case r.Retries < 0 || r.Retries > MaxRetries:
		return r.bad(fmt.Sprintf("it asks for %d retries", r.Retries), fmt.Sprintf("use 0 to %d", MaxRetries))
	case r.MaxDisconnect != 0 && (r.MaxDisconnect < MinDisconnect || r.MaxDisconnect > MaxDisconnect):
		return r.bad(fmt.Sprintf("its max_disconnect is %v", r.MaxDisconnect), fmt.Sprintf("use %v to %v, or 0 for no limit", MinDisconnect, MaxDisconnect))
	case r.MaxDisconnect != 0 && r.Backend == BackendApp:
		return r.bad("it has a max_disconnect, and Pigeon cannot stop what runs in a process of the application", "leave that out, or use the exec backend")
	case r.Restartable && r.Backend == BackendApp:
		return r.bad("it is marked restartable, and Pigeon cannot stop what runs in a process of the application", "leave that out, or use the exec backend")
	}
	if what, next := ownerFault(r.Owner); what != "" {
		return r.bad(fmt.Sprintf("its owner %q %s", clipped(r.Owner), what), next)
	}
	if what, next := r.Limits.fault(r.Backend); what != "" {
		return r.bad(what, next)
	}
	if what, next := r.afterFault(); what != "" {
		return r.bad(what, next)
	}
	if what, next := AppFault(r.App); what != "" && r.App != "" {
		return r.bad("the name of its application "+what, next)
	}
	if what := textFault(r.Key); what != "" { // commands and JSON name the job by it
		return r.bad(fmt.Sprintf("its key %q %s", r.Key, what), "use one of text")
	}
	if r.MaxRunning < 0 {
		return r.bad(fmt.Sprintf("its max_running is %d", r.MaxRunning), "use 1 or more, or 0 for no limit")
	}
	if what, next := r.Array.fault(r.Backend, len(r.Tasks)); what != "" {
		return r.bad(what, next)
	}
	if what, next := r.stageFault(); what != "" {
		return r.bad(what, next)
	}
	if what := nameFault(r.Name); what != "" {
		return r.bad(fmt.Sprintf("its name %q %s", clipped(r.Name), what), "use a shorter one of text, or leave it out")
	}
	return r.validateTasks()
}

func (r *Request) validateTasks() error {
	if e := r.Tasks[0].Payload.Exec; e != nil && e.Stdin && len(r.Tasks) > 1 {
		return r.bad(fmt.Sprintf("it takes standard input and has %d tasks, and only one of them could have it", len(r.Tasks)), "give it one task, or have the tasks read a file")
	}
	seen := make(map[string]struct{}, len(r.Tasks))
	total := int64(0)
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if _, twice := seen[t.ID]; twice {
			return r.bad(fmt.Sprintf("task %d has the id %q of an earlier task", i, t.ID), "give every task an id of its own")
		}
		seen[t.ID] = struct{}{}
		if len(t.ID) > MaxKeyBytes {
			return r.bad(fmt.Sprintf("task %d has an id longer than %d bytes", i, MaxKeyBytes), "use a shorter one")
		}
		if i > 0 && t.Payload.Equal(&r.Tasks[i-1].Payload) {
			continue // many tasks of one long process are looked at once
		}
		if what, next := t.Payload.fault(r.Backend); what != "" {
			subject := "it "
			if len(r.Tasks) > 1 {
				subject = fmt.Sprintf("task %d (%q) ", i, t.ID)
			}
			return r.bad(subject+what, next)
		}
		if e := t.Payload.Exec; e != nil {
			if total += e.Size(nil); total > MaxProcesses {
				return r.bad(fmt.Sprintf("the arguments, variables and scripts of its first %d tasks have more than %d bytes, the limit of a job", i+1, MaxProcesses), "split it into several jobs, or put what is long in a file that is staged or that nodes have")
			}
		}
	}
	return nil
}

// fault returns what is wrong with the payload for that backend and what to do about it, "" when
// nothing is wrong.
func (p *Payload) fault(b Backend) (what, next string) {
	switch {
	case p.Backend != b:
		return fmt.Sprintf("is for the backend %q, the job for %q", clipped(string(p.Backend)), clipped(string(b))), "give both the same"
	case len(p.Message) > MaxPayload:
		return fmt.Sprintf("has a message of %d bytes, more than the limit of %d", len(p.Message), MaxPayload), "let the task read a file instead"
	case b == BackendSleep && p.Sleep < 0:
		return fmt.Sprintf("sleeps %v, less than nothing", p.Sleep), "use 0 or more"
	case b == BackendSleep && p.Sleep > MaxSleep:
		return fmt.Sprintf("sleeps %v, more than the limit of %v", p.Sleep, MaxSleep), "use that or less"
	case b == BackendExec:
		return p.Exec.fault()
	case b != BackendApp && b != BackendSleep && b != BackendExec:
		return fmt.Sprintf("is for a backend %q, which does not exist", clipped(string(b))), `use "exec", "sleep", or none for a process of the application`
	}
	return "", ""
}

// fault returns why the process can never be started and what to do about it, "" when it can.
func (e *Exec) fault() (what, next string) {
	switch {
	case e == nil || len(e.Argv) == 0 || e.Argv[0] == "":
		return "names no program to run", "give one"
	case len(e.Script) > MaxScript:
		return fmt.Sprintf("has a script of %d bytes, more than the limit of %d", len(e.Script), MaxScript), "put what it holds beside its commands into files (--stage)"
	case len(e.Argv)+len(e.Env) > MaxExecStrings:
		return fmt.Sprintf("has %d arguments and %d variables, together more than the limit of %d", len(e.Argv), len(e.Env), MaxExecStrings),
			"write them to a file that the program reads (--stage FILE), or give each task of an array its part"
	}
	hasZero := func(s string) bool { return strings.IndexByte(s, 0) >= 0 }
	if slices.ContainsFunc(e.Argv, hasZero) || slices.ContainsFunc(e.Env, hasZero) || hasZero(e.Dir) {
		return "has a zero byte in an argument, a variable or its folder, which no system can pass on", "leave it out"
	}
	if i := slices.IndexFunc(e.Env, func(v string) bool { return strings.IndexByte(v, '=') < 1 }); i >= 0 {
		return fmt.Sprintf("has a variable, number %d, that is not KEY=value", i+1), "write KEY=value" // it may be a secret
	}
	return "", ""
}

// quotable returns a name as a refusal repeats it: whole, unless it is longer than names may be.
func quotable(name string) string {
	if len(name) > MaxKeyBytes {
		return clipped(name)
	}
	return name
}

func (r *Request) bad(what, next string) error {
	name := r.Key
	if name == "" {
		name = r.Description
	}
	subject := fmt.Sprintf("job %q", quotable(name))
	if r.App != "" {
		subject += fmt.Sprintf(" of application %q", quotable(r.App))
	}
	return &Error{Problem: Invalid, What: what, Subject: subject,
		Tried: "submitting it; nothing was accepted", Next: next}
}
