package executors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// end is how an executor ended.
type end struct {
	status  int // 128 + n after signal n
	reason  string
	ran     time.Duration
	refused bool // it never began, and cannot here
	noRoom  bool // for want of room only
}

// end stops the executors of an application and lets nothing more of it start.
// It needs the lock.
func (k *Keeper) end(a *application, reason string) {
	a.over = true
	for _, x := range a.executors {
		x.blameless = true
		k.stopExecutor(x, reason)
	}
	k.forgetIfOver(a)
}

// stopExecutor has an executor ended. It needs the lock.
func (k *Keeper) stopExecutor(x *executor, reason string) {
	if x.stopping != "" {
		return
	}
	x.stopping = reason
	x.cancel()
	if x.process {
		k.cfg.Guard.Kill(x.handle, k.cfg.Grace)
	}
}

// ended removes an executor of which nothing is left.
func (k *Keeper) ended(x *executor, e end) {
	if x.app.Grants {
		k.cfg.Table.Remove(x.app.ID, x.id, e.reason)
	} else {
		k.cfg.Holds.Release(x.app.ID, x.id)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x.cancel()
	if x.stopping != "" {
		e.reason, e.refused = "it was stopped: "+x.stopping, false
		if x.blameless {
			e.status = -1
		}
	}
	k.cfg.Logger.Info("an executor has ended", "application", x.app.ID, "executor", x.id, "status", e.status, "reason", e.reason, "ran", e.ran)
	delete(x.app.executors, x.id)
	k.keepEnd(x, e)
	k.changed()
	k.forgetIfOver(x.app)
	if k.living--; k.living == 0 {
		k.none.Broadcast()
	}
}

// keepEnd keeps the end of an executor for the frontend. It needs the lock.
func (k *Keeper) keepEnd(x *executor, e end) {
	a := x.app
	s := x.state
	s.State, s.ExitStatus, s.Reason = api.ExecutorExited, e.status, e.reason
	if e.noRoom {
		s.State = api.ExecutorWaiting // for room, elsewhere or later, under another id
	}
	a.ended = append(a.ended, wire.HeldExecutor{State: s, Slots: x.slots, Ran: e.ran, Refused: e.refused})
	if n := len(a.ended) - maxLogs; n > 0 {
		k.remove(a.folder + "/" + a.ended[n-1].State.ID)
	}
	if len(a.ended) > maxEnded {
		delete(a.known, a.ended[0].State.ID) // no order that still counts names it
		a.ended = append(a.ended[:0:0], a.ended[1:]...)
	}
}

// forgetIfOver forgets an application that is over when its last executor is gone. It
// needs the lock.
func (k *Keeper) forgetIfOver(a *application) {
	if !a.over || len(a.executors) > 0 || k.apps[a.ID] != a {
		return
	}
	delete(k.apps, a.ID)
	k.changed()
	k.cfg.Table.Forget(a.ID)
	k.gone++
	aside := filepath.Join(k.cfg.Folder, fmt.Sprintf(".over-%d", k.gone)) // the application may come again at once
	if err := os.Rename(a.folder, aside); err == nil {
		k.remove(aside)
	}
	k.trim()
}

// remove removes a folder that is not made again, without the lock.
func (k *Keeper) remove(folder string) {
	k.work.Go(func() {
		if err := os.RemoveAll(folder); err != nil {
			k.cfg.Logger.Warn("the folder of an executor could not be removed; remove it by hand", "folder", folder, "error", err)
		}
	})
}

// trim removes files that no application needs. It needs the lock.
func (k *Keeper) trim() {
	used := map[string]bool{}
	for _, a := range k.apps {
		for _, f := range a.Template.Files {
			used[f.SHA256] = true
		}
	}
	if err := k.cfg.Files.Trim(func(sha string) bool { return used[sha] }); err != nil {
		k.cfg.Logger.Warn("files of applications could not be removed; remove them by hand", "error", err)
	}
}

// event handles an event of an executor's process.
func (k *Keeper) event(x *executor, e guard.Event) {
	switch e.Kind {
	case guard.Started:
		k.mu.Lock()
		defer k.mu.Unlock()
		x.state.State, x.state.Reason = api.ExecutorRunning, ""
		k.changed()
		k.cfg.Logger.Info("an executor runs", "application", x.app.ID, "executor", x.id, "pid", e.Pid, "folder", x.folder)
	case guard.Ended:
		if e.Never {
			k.ended(x, end{reason: "it was stopped before it began"})
			return
		}
		k.ended(x, end{status: exitStatus(e.Status), reason: describe(e.Status) + lastLines(e.Tail), ran: e.Ran})
	case guard.Refused:
		k.ended(x, k.refusal(x, e.Fault.What, "starting its process", e.Fault.Next))
	case guard.Lost:
		k.ended(x, end{status: -1, reason: e.Fault.What})
	}
}

// refusal returns the end of an executor that cannot run here.
func (k *Keeper) refusal(x *executor, what, tried, next string) end {
	return end{refused: true, reason: (&api.Error{
		What: what, Subject: fmt.Sprintf("executor %s of application %q on node %q", x.id, x.app.ID, k.cfg.Node), Tried: tried, Next: next,
	}).Error()}
}

func exitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return fmt.Sprintf("it was ended by signal %d (%v)", int(s.Signal()), s.Signal())
	}
	return fmt.Sprintf("it exited with status %d", s.ExitStatus())
}

// lastLines quotes the end of what a process wrote to stderr.
func lastLines(tail []byte) string {
	const most = 600
	text := strings.TrimSpace(strings.ToValidUTF8(string(tail), "?"))
	if text == "" {
		return ""
	}
	if len(text) > most {
		text = text[len(text)-most:]
		if i := strings.IndexByte(text, '\n'); i >= 0 && i < most/2 {
			text = text[i+1:]
		}
	}
	return "; its stderr ends: " + text
}

func (x *executor) output(name string) string { return filepath.Join(x.folder, name) }
