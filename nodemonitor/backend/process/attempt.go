package process

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
	"golang.org/x/sys/unix"
)

// run is one attempt. Its events come one at a time.
type run struct {
	b       *Backend
	task    backend.Task
	done    func(backend.Result)
	guard   *guard.Client // that of the backend, or one for this attempt alone
	handle  guard.Handle
	started time.Time       // written by the Started event, read by later ones
	input   *input          // nil when it takes none
	staged  *staging.Place  // where its staged files were put; nil for none, or by an earlier process
	spare   sched.AttemptID // whose folder it may have got; the zero id for none
	// preparing is set while the guard does not have it yet. The backend's lock guards it, and handle until
	// then.
	preparing *preparation
	// known says that the guard has reported the process or its end, and settled that the end of the attempt
	// was reported before. The backend's lock guards them.
	known, settled bool
}

// fault returns why the task can never be started here, nil when it can. The
// backend's lock is held.
func (r *run) fault() *guard.Fault {
	e := r.task.Payload.Exec
	switch {
	case r.b.runs[r.task.ID] != nil:
		return &guard.Fault{What: "this attempt runs here already", Next: "wait for its end"}
	case e == nil || len(e.Argv) == 0 || e.Argv[0] == "":
		return &guard.Fault{What: "it names no program to run", Next: "give the program and its arguments"}
	case len(r.task.Payload.Stage) > 0 && (r.b.cfg.Staged == nil || e.Dir != ""):
		return &guard.Fault{What: "it has staged files, and this node has no folder to put them into", Next: "leave out the files, or the working folder of its own"}
	case e.Dir != "" && !filepath.IsAbs(e.Dir):
		return &guard.Fault{What: fmt.Sprintf("its working folder %q is not a full path", e.Dir), Next: "give one that begins with /, or leave it out for a folder of the attempt's own"}
	}
	return nil
}

// spec returns what the guard is to start.
func (r *run) spec(f logs.Files, as *accounts.Account) guard.Spec {
	t, e := &r.task, r.task.Payload.Exec
	if as.As != nil {
		r.b.cfg.Logs.For(t.ID, logs.UserOf(int(as.As.UID)))
	} else {
		r.b.cfg.Logs.For(t.ID, t.Payload.Submitter)
	}
	s := guard.Spec{
		Argv: e.Argv, Env: append(r.b.cfg.Accounts.Environment(as), environment(t, r.b.cfg.Node)...), Dir: e.Dir, As: as.As,
		Stdout: f.Stdout, Stderr: f.Stderr, Limit: r.b.cfg.Limit, Note: t.Note, Limits: r.limits(), Stdin: e.Stdin, Subject: t.Subject(),
	}
	if s.Dir == "" {
		s.Dir, s.MakeDir = f.Folder, true
		s.Spare, r.spare = r.b.cfg.Logs.Spare()
	}
	if len(e.Script) > 0 {
		s.Script = &guard.Script{Folder: f.Folder, Name: api.ScriptName(e.Argv[0]), Text: e.Script}
		s.Argv = append([]string{filepath.Join(s.Script.Folder, s.Script.Name)}, e.Argv[1:]...)
	}
	return s
}

// event handles an event of the process.
func (r *run) event(e guard.Event) {
	switch e.Kind {
	case guard.Started:
		r.started = time.Now()
		if !r.reported() && r.task.Began != nil {
			r.task.Began()
		}
		if e.Reused {
			r.b.cfg.Logs.Taken(r.spare)
		} else {
			r.b.cfg.Logs.NotTaken(r.spare)
		}
		r.input.change(func() { r.input.began = true })
	case guard.HeldUp: // by files of its user: that counts as its program's time
		if !r.reported() && r.task.Began != nil {
			r.task.Began()
		}
	case guard.Input:
		r.input.change(func() { r.input.state = e.Input })
	case guard.Ended:
		result, silent := r.result(e), e.Output == [2]guard.Output{}
		if r.staged == nil {
			r.b.ended(r, result, silent)
			return
		}
		r.b.besides(func() {
			r.staged.RemoveUnchanged() // before its user, or a sweep, looks at what it left
			r.b.ended(r, result, silent)
		})
	case guard.Refused:
		r.b.besides(func() {
			res := r.neverBegan(e.Fault)
			res.ExitCode = e.ExitCode()
			r.b.ended(r, res, true)
		})
	case guard.Lost:
		res := r.failed(e.Fault)
		res.Outcome, res.Together = sched.Lost, e.Fault.Together
		if !r.started.IsZero() {
			res.Started, res.Finished = r.started, time.Now()
		}
		r.b.ended(r, res, false)
	}
}

// result puts the end of a process into words.
func (r *run) result(e guard.Event) backend.Result {
	res := backend.Result{ID: r.task.ID, Outcome: sched.Killed, Tail: e.Tail, ExitCode: e.ExitCode(), Peak: e.Peak}
	if e.Never {
		res.ExitCode = 0
		return res
	}
	res.Started, res.Finished = r.started, r.started.Add(e.Ran)
	switch what := describe(e.Status); {
	case e.Killed:
	case what == "":
		res.Outcome = sched.Done
		if res.Reason = unwritten(e.Output); res.Reason != "" {
			r.b.cfg.Disk.LookSoon()
		}
		res.Reason = strings.TrimPrefix(res.Reason+leftRunning(e.Strays), "; ")
	default:
		r.b.cfg.Disk.LookSoon() // a full disk may be why it failed, and the next one would fail too
		res.Outcome = sched.Failed
		next := r.readIt(e.Output)
		if missing := unwritten(e.Output); missing != "" { // the disk may not have taken the record of that either
			next += "; " + missing
		}
		next += leftRunning(e.Strays)
		what, next, code := r.limitMet(&e, what, next)
		res.Code = code
		res.Reason = fmt.Sprintf("%s: %s%s; %s", r.task.On(r.b.cfg.Node), what, lastSaid(e.Tail), next)
	}
	return res
}

// lastSaid quotes the last line that a program wrote to stderr, which is most often why it failed.
func lastSaid(tail []byte) string {
	const most = 200
	text := strings.TrimSpace(strings.ToValidUTF8(string(tail), "?"))
	line := strings.TrimSpace(text[strings.LastIndexAny(text, "\n\r")+1:])
	if line == "" {
		return ""
	}
	line = strings.Map(func(c rune) rune {
		if unicode.IsGraphic(c) {
			return c
		}
		return ' '
	}, line)
	return "; its stderr ends: " + api.Clip(line, most)
}

// readIt returns how a user reads what the attempt has written.
func (r *run) readIt(out [2]guard.Output) string {
	command := fmt.Sprintf("pigeon logs %s --task %d --attempt %d", r.task.JobName, r.task.ID.Task, r.task.ID.Attempt)
	switch wrote := func(i int) bool { return out[i].Kept+out[i].Dropped > 0 }; {
	case wrote(1):
		return fmt.Sprintf("read it all with `%s --stderr`", command)
	case wrote(0):
		return fmt.Sprintf("read its output with `%s`", command)
	}
	return "it wrote nothing; run it by hand on that node to see why"
}

// failed returns the end of an attempt that could not begin. Where the node is short of something the task is
// not at fault, and a node was lost.
func (r *run) failed(f *guard.Fault) backend.Result {
	res := backend.Result{ID: r.task.ID, Outcome: sched.Failed, Reason: r.reason(f.What, f.Next)}
	if f.IsShortage() {
		res.Outcome = sched.Lost
	}
	return res
}

// notAllowed returns the end of an attempt that may not run here as its submitter.
func (r *run) notAllowed(f *guard.Fault) backend.Result {
	res := r.failed(f)
	if res.Outcome == sched.Failed {
		res.Code = api.CodeNotAllowed
	}
	return res
}

// neverBegan returns the end of an attempt that could not begin here. Where the disk of the node is at
// fault it is given back and counts for nothing: the next one begins elsewhere. It waits for that disk.
func (r *run) neverBegan(f *guard.Fault) backend.Result {
	res := r.failed(f)
	if r.b.cfg.Disk.Look() != "" {
		res.Outcome = sched.Yielded
	}
	return res
}

// reason returns a reason of four parts. Whoever reads it knows which job it is about.
func (r *run) reason(what, next string) string {
	tried := "starting it"
	if e := r.task.Payload.Exec; e != nil && len(e.Argv) > 0 {
		tried = fmt.Sprintf("running %q", commandLine(e.Argv))
	}
	return (&api.Error{What: what, Subject: r.task.On(r.b.cfg.Node), Tried: tried, Next: next}).Error()
}

// commandLine shows a command in a message, shortened when it is long.
func commandLine(argv []string) string {
	const most = 200
	return api.Clip(strings.Join(argv[:min(len(argv), most)], " "), most)
}

// describe returns how a process ended, "" for a zero exit status.
func describe(s syscall.WaitStatus) string {
	switch {
	case s.Signaled():
		name := unix.SignalName(s.Signal())
		if name == "" {
			name = "a signal"
		}
		text := fmt.Sprintf("it was ended by signal %d (%s)", int(s.Signal()), name)
		if s.CoreDump() {
			text += " and dumped its core"
		}
		return text
	case s.ExitStatus() != 0:
		return fmt.Sprintf("it exited with status %d", s.ExitStatus())
	}
	return ""
}

// leftRunning says, after a semicolon, what became of processes that an attempt had left running.
func leftRunning(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; a process that it had left running in a session of its own was killed"
	}
	return fmt.Sprintf("; %d processes that it had left running in sessions of their own were killed", n)
}

// unwritten returns what of the output could not be written, "" when all was. What
// the limit cut off is recorded beside the log.
func unwritten(out [2]guard.Output) string {
	for i, name := range [...]string{"stdout", "stderr"} {
		if out[i].Fault != "" && out[i].Dropped == 0 {
			return fmt.Sprintf("%d bytes of its %s are kept, and more may be missing: %s", out[i].Kept, name, out[i].Fault)
		}
		if out[i].Fault != "" {
			return fmt.Sprintf("%d bytes of its %s are not kept, and %d are: %s", out[i].Dropped, name, out[i].Kept, out[i].Fault)
		}
	}
	return ""
}
