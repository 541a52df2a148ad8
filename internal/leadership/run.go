package leadership

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/leadership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// logAfter is how many requests in a row have to fail before that is logged: a single one is the
// loss of one of several servers.
const logAfter = 3

// answer is how a request ended.
type answer struct {
	operation protocol.Operation
	change    change // of a read
	revision  uint64 // of a write
	err       error
}

// loop is what Run's goroutine alone has.
type loop struct {
	*Candidate
	state  protocol.Candidate
	led    uint64 // the token given to OnLead, 0 after OnLost
	last   change // what the store has last reported; the state may have ignored it
	failed int    // requests in a row
	work   sync.WaitGroup
}

// Run leads and waits in turn until ctx ends or Resign has done its work. When it returns,
// this process does not lead, OnLost was called if OnLead was, and no goroutine is left. It
// may be called once.
func (c *Candidate) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{Candidate: c}
	l.state = protocol.NewCandidate(c.opts.Record.Holder, c.opts.Record.Incarnation, sched.Time(c.opts.TTL), c.opts.Now())
	defer close(c.done)
	defer l.work.Wait()
	defer cancel()
	defer l.stop()
	l.work.Go(func() { c.watch(ctx) })

	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		l.requests()
		now := c.opts.Now()
		action, wake := l.state.Due(now)
		l.show()
		if l.state.Idle() {
			close(c.gone)
			return
		}
		if action.Operation != protocol.Wait {
			l.start(ctx, action)
		}
		if timer.Stop(); wake > 0 {
			timer.Reset(time.Duration(max(0, wake-now)))
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.wake:
		case a := <-c.answers:
			l.take(a)
		case ch := <-c.changes:
			l.last = ch
			l.state.Heard(c.opts.Now(), ch.seen)
		}
	}
}

// requests passes on what other goroutines have asked for.
func (l *loop) requests() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resigned {
		l.state.Resign()
	}
}

// start begins an operation, whose answer comes within the patience.
func (l *loop) start(ctx context.Context, a protocol.Action) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(protocol.Patience(sched.Time(l.opts.TTL))))
	l.work.Go(func() {
		defer cancel()
		l.answers <- l.carryOut(ctx, a) // there is room: one operation is in progress at a time
	})
}

func (c *Candidate) carryOut(ctx context.Context, a protocol.Action) (done answer) {
	done.operation = a.Operation
	switch a.Operation {
	case protocol.Read:
		r, revision, found, err := c.opts.Store.Get(ctx, c.opts.Name)
		done.change, done.err = seen(r, revision, found), err
	case protocol.Write:
		r := c.opts.Record
		r.Token = a.Claim.Token
		done.revision, done.err = c.opts.Store.Put(ctx, c.opts.Name, r, a.After)
		done.change = seen(r, done.revision, true)
	case protocol.Remove:
		done.err = c.opts.Store.Delete(ctx, c.opts.Name, a.After)
		done.revision = a.After
	}
	return done
}

// seen translates what a store has.
func seen(r Record, revision uint64, exists bool) change {
	ch := change{record: r, seen: protocol.Seen{Exists: exists, Revision: revision}}
	if exists {
		ch.seen.Claim = protocol.Claim{Holder: r.Holder, Incarnation: r.Incarnation, Token: r.Token, TTL: sched.Time(r.TTL)}
		ch.record.Token = ch.seen.Token()
	}
	return ch
}

// take passes an answer on to the rules.
func (l *loop) take(a answer) {
	now := l.opts.Now()
	switch {
	case errors.Is(a.err, ErrConflict):
		l.state.Refused(now)
	case a.err != nil:
		l.state.Failed(now)
		if l.failed++; l.failed == logAfter {
			l.opts.Log.Warn("the leadership's store does not answer; this is logged once until it does", "name", l.opts.Name, "error", a.err)
		}
		return
	case a.operation == protocol.Read:
		l.last = a.change
		l.state.Found(now, a.change.seen)
	default:
		l.last = a.change
		l.state.Answered(now, a.revision)
	}
	if l.failed >= logAfter {
		l.opts.Log.Info("the leadership's store answers again", "name", l.opts.Name)
	}
	l.failed = 0
}

// show publishes what the rules have decided.
func (l *loop) show() {
	token, deadline, leads := l.state.Leading()
	if l.led != 0 && (!leads || token != l.led) {
		l.deadline.Store(0)
		l.led = 0
		err := reasons[l.state.Lost()]
		if errors.Is(err, ErrResigned) {
			l.opts.Log.Info("the leadership was given up", "name", l.opts.Name)
		} else {
			l.opts.Log.Warn("does not lead any more", "name", l.opts.Name, "error", err)
		}
		l.opts.OnLost(err)
	}
	l.showLeader()
	if !leads {
		return
	}
	l.deadline.Store(int64(deadline))
	if l.led == 0 {
		l.led = token
		l.opts.Log.Info("leads", "name", l.opts.Name, "token", token)
		l.opts.OnLead(token)
	}
}

func (l *loop) showLeader() {
	s := l.state.Seen()
	l.mu.Lock()
	l.revision = s.Revision
	l.mu.Unlock()
	switch {
	case !s.Exists:
		l.setLeader(Record{}, false)
	case s == l.last.seen:
		l.setLeader(l.last.record, true)
	}
}

func (l *loop) setLeader(r Record, known bool) {
	l.mu.Lock()
	same := r == l.leader && known == l.known
	l.leader, l.known = r, known
	l.mu.Unlock()
	if !same {
		l.opts.OnLeader(r, known)
	}
}

// stop ends the leadership of a candidate whose Run ends. The record lapses, or was removed.
func (l *loop) stop() {
	l.deadline.Store(0)
	if l.led != 0 {
		l.led = 0
		l.opts.OnLost(ErrResigned)
	}
}

// watchPause is how long a candidate waits before it watches again.
const watchPause = 200 * time.Millisecond

// watch passes on what the store reports. It only makes things faster; a store that cannot is
// polled.
func (c *Candidate) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.opts.Store.Watch(ctx, c.opts.Name, func(r Record, revision uint64, exists bool) {
			select {
			case c.changes <- seen(r, revision, exists):
			case <-ctx.Done():
			}
		})
		if err != nil && ctx.Err() == nil {
			c.opts.Log.Debug("watching the leadership's record again", "name", c.opts.Name, "error", err)
		}
		delay.For(ctx, watchPause)
	}
}
