package executors

import (
	"fmt"
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
	refused bool // it never began, and cannot run here
	forNow  bool // for lack of room, or another reason that may pass
}

// end stops the executors of an application; none of them is started afterwards.
// It needs the lock.
func (m *Manager) end(a *application, reason string) {
	a.over = true
	for _, x := range a.executors {
		x.blameless = true
		m.stopExecutor(x, reason)
	}
	m.forgetIfOver(a)
}

// stopExecutor requests the end of an executor. It needs the lock.
func (m *Manager) stopExecutor(x *executor, reason string) {
	if x.stopping != "" {
		return
	}
	x.stopping = reason
	x.stay()
	x.cancel()
	if x.process {
		m.cfg.Guard.Kill(x.handle, m.cfg.Grace)
	}
}

// ended removes an executor that has ended. One that could not begin because of the node's disk is
// wanted elsewhere, as one for which the node has no room.
func (m *Manager) ended(x *executor, e end) {
	if e.refused && m.cfg.Disk.Look() != "" {
		e.forNow = true
	}
	if x.app.Grants {
		m.cfg.Table.Remove(x.app.ID, x.id, e.reason)
	} else {
		m.cfg.Holds.Release(x.app.ID, x.id)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x.stay()
	x.cancel()
	e = x.stopped(e)
	m.cfg.Logger.Info("an executor has ended", "application", x.app.ID, "executor", x.id, "status", e.status, "reason", e.reason, "ran", e.ran)
	delete(x.app.executors, x.id)
	m.keepEnd(x, e)
	m.retireLocals(x)
	m.changed()
	m.forgetIfOver(x.app)
	if m.living--; m.living == 0 {
		m.none.Broadcast()
	}
}

// stopped returns how an executor ended, when it was perhaps stopped. It needs the lock.
func (x *executor) stopped(e end) end {
	if x.stopping == "" {
		return e
	}
	e.reason, e.refused, e.forNow = "it was stopped: "+x.stopping, false, false
	if x.blameless {
		e.status = -1
	}
	if !x.process { // a long wait is no failure soon after the start, as which its frontend would count it
		e.ran = time.Since(x.began)
	}
	return e
}

// keepEnd keeps the end of an executor for the frontend. It needs the lock.
func (m *Manager) keepEnd(x *executor, e end) {
	a := x.app
	s := x.state
	s.State, s.ExitStatus, s.Reason = api.ExecutorExited, e.status, e.reason
	if e.forNow {
		s.State = api.ExecutorWaiting // it is tried again, elsewhere or later, under another id
	}
	a.ended = append(a.ended, wire.HeldExecutor{State: s, Slots: x.slots, Ran: e.ran, Refused: e.refused})
	if n := len(a.ended) - maxLogs; n > 0 {
		m.folders.remove(m.cfg.Folder, a.ID, a.ended[n-1].State.ID)
	}
	if len(a.ended) > maxEnded {
		a.ended = append(a.ended[:0:0], a.ended[1:]...)
	}
}

// retireLocals removes the local files of an executor that has ended: nobody reads them any more, and one
// that was killed has not removed them. It needs the lock, and does not wait for the disks.
func (m *Manager) retireLocals(x *executor) {
	a := x.app
	a.retiring++
	m.work.Go(func() {
		m.folders.retireLocals(a.ID, x.id)
		m.mu.Lock()
		defer m.mu.Unlock()
		a.retiring--
		m.forgetIfOver(a)
	})
}

// forgetIfOver forgets an application that is over when its last executor has ended, and its folders are out
// of the way: it may be ordered again at once, with the same names. It needs the lock, and does not wait for
// the disks.
func (m *Manager) forgetIfOver(a *application) {
	if !a.over || len(a.executors) > 0 || a.retiring > 0 || m.apps[a.ID] != a {
		return
	}
	a.retiring++
	m.work.Go(func() {
		m.folders.retireApplication(a.ID)
		m.mu.Lock()
		delete(m.apps, a.ID)
		m.changed()
		m.cfg.Table.Forget(a.ID)
		m.mu.Unlock()
		m.trim()
	})
}

// trim removes files that no application needs.
func (m *Manager) trim() {
	if err := m.cfg.Files.Trim(func(sha256 string) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.apps.use(sha256)
	}); err != nil {
		m.cfg.Logger.Warn("files of applications could not be removed; remove them by hand", "error", err)
	}
}

// event handles an event of an executor's process.
func (m *Manager) event(x *executor, e guard.Event) {
	switch e.Kind {
	case guard.Started:
		m.mu.Lock()
		defer m.mu.Unlock()
		x.state.State, x.state.Reason = api.ExecutorRunning, ""
		m.changed()
		m.cfg.Logger.Info("an executor runs", "application", x.app.ID, "executor", x.id, "pid", e.Pid, "folder", x.folder)
	case guard.Ended:
		if e.Never {
			m.afterEvent(x, end{reason: "it was stopped before it began"})
			return
		}
		m.afterEvent(x, end{status: e.ExitCode(), reason: x.describeEnd(&e) + lastLines(e.Tail), ran: e.Ran})
	case guard.Refused:
		m.afterEvent(x, *x.refusal(e.Fault.What, "starting its process", e.Fault.Next))
	case guard.Lost:
		if e.Never {
			m.afterEvent(x, *x.refusal(e.Fault.What, "starting its process", e.Fault.Next))
			return
		}
		m.afterEvent(x, end{status: -1, reason: e.Fault.What})
	}
}

// afterEvent removes an executor of whose process there is no further event. That may wait for a look at the
// disk, while the guard reports events of others.
func (m *Manager) afterEvent(x *executor, e end) { m.work.Go(func() { m.ended(x, e) }) }

// refusal returns the end of an executor that cannot run here.
func (x *executor) refusal(what, tried, next string) *end {
	return &end{refused: true, reason: (&api.Error{
		What: what, Subject: fmt.Sprintf("executor %s of application %q on node %q", x.id, x.app.ID, x.state.Node), Tried: tried, Next: next,
	}).Error()}
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
