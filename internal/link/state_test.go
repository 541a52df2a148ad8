package link

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestDownLostAndUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		var broken atomic.Bool
		broken.Store(true)
		var log []string
		var begin time.Time
		l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
			if broken.Load() {
				return wire.BatchReply{}, errBroken
			}
			return r.Deliver(ctx, b)
		}), Options{LostAfter: 2 * time.Second, OnState: func(s State) {
			log = append(log, fmt.Sprintf("%v: %v", time.Since(begin), s.Status))
			if s.Status == Up && (s.Err != nil || s.For < 10*time.Second || s.For > 11*time.Second) ||
				s.Status != Up && !errors.Is(s.Err, errBroken) {
				t.Errorf("state %v", s)
			}
		}})
		begin = time.Now()
		_ = l.Send(numbered(1, 5)...)
		pass(10 * time.Second)
		if got := fmt.Sprint(log); got != "[0s: down 2s: lost]" || l.Stats().Status != Lost {
			t.Errorf("states %v, want down at once and lost after 2s", got)
		}
		if n := l.Stats().Retries; n < 20 || n > 60 {
			t.Errorf("%d retries in 10s, want about 6 and then one each 0.25 to 0.5s", n)
		}
		broken.Store(false)
		pass(time.Second)
		if len(log) != 3 || !inOrder(r.numbers(), 5) {
			t.Errorf("states %v, received %v", log, r.numbers())
		}
	})
}

// A state names the process that the attempt was meant for, also when the link is reset before the
// state is read.
func TestStatesNameTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var peers []int64
		var l *Link
		l = open(t, deliverFunc(func(context.Context, *wire.Batch) (wire.BatchReply, error) {
			return wire.BatchReply{}, errBroken
		}), Options{LostAfter: 2 * time.Second, OnState: func(s State) {
			l.Reset(8) // its successor has registered meanwhile
			peers = append(peers, s.Peer)
		}})
		l.Reset(7)
		_ = l.Send(numbered(1, 1)...)
		pass(time.Second)
		_ = l.Send(numbered(1, 1)...)
		pass(10 * time.Second)
		if got := fmt.Sprint(peers); got != "[7 8]" {
			t.Errorf("states of the processes %v, want down of 7 and lost of 8", got)
		}
	})
}

// Time in which this process was stopped is not silence of the peer, although an attempt had
// failed before.
func TestOwnPauseIsNotTheSilenceOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		attempts := 0
		var log []Status
		l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
			switch attempts++; attempts {
			case 1:
				return wire.BatchReply{}, errBroken
			case 2:
				time.Sleep(10 * time.Second) // longer than the call may take: nothing runs here
				return wire.BatchReply{}, ctx.Err()
			default:
				return r.Deliver(ctx, b)
			}
		}), Options{LostAfter: 2 * time.Second, OnState: func(s State) { log = append(log, s.Status) }})
		_ = l.Send(numbered(1, 5)...)
		pass(20 * time.Second)
		if got := fmt.Sprint(log); got != fmt.Sprint([]Status{Down, Up}) || !inOrder(r.numbers(), 5) {
			t.Errorf("states %v, received %v", log, r.numbers())
		}
	})
}

// An attempt that hangs does not delay the news that the peer is lost.
func TestLostInTimeWhileAnAttemptHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost time.Duration
		begin := time.Now()
		l := open(t, deliverFunc(func(ctx context.Context, _ *wire.Batch) (wire.BatchReply, error) {
			<-ctx.Done()
			return wire.BatchReply{}, ctx.Err()
		}), Options{LostAfter: 5 * time.Second, CallTimeout: 3 * time.Second, OnState: func(s State) {
			if s.Status == Lost {
				lost = time.Since(begin)
			}
		}})
		_ = l.Send(numbered(1, 1)...)
		pass(time.Minute)
		if want := 3*time.Second + 5*time.Second; lost != want {
			t.Errorf("lost after %v, want %v: the first timeout and then LostAfter", lost, want)
		}
	})
}

func TestAPeerThatIsBusyIsNotDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		l := open(t, &mishap{to: r, plan: []string{"busy", "busy", "busy"}}, Options{OnState: func(s State) {
			t.Errorf("state %v", s)
		}})
		_ = l.Send(numbered(1, 2)...)
		pass(time.Second)
		if !inOrder(r.numbers(), 2) || l.Stats().Retries != 3 {
			t.Errorf("received %v, stats %+v", r.numbers(), l.Stats())
		}
	})
}

func TestProbesFindAPeerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		var broken atomic.Bool
		var states []Status
		l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
			if broken.Load() {
				return wire.BatchReply{}, errBroken
			}
			return r.Deliver(ctx, b)
		}), Options{Probe: 500 * time.Millisecond, OnState: func(s State) { states = append(states, s.Status) }})
		pass(10*time.Second + time.Millisecond)
		if n := l.Stats().Batches; n != 20 || len(states) != 0 {
			t.Errorf("%d probes in 10s and states %v, want 20 and none", n, states)
		}
		broken.Store(true)
		pass(500*time.Millisecond + 2100*time.Millisecond)
		if fmt.Sprint(states) != "[down lost]" {
			t.Errorf("states %v without traffic, want down and lost", states)
		}
	})
}

// The daemon registers again before anything is sent to the new process, and what
// was meant for the old one never reaches it.
func TestAPeerThatStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young := newReceiver(1), newReceiver(2)
		var now Deliverer = old
		var l *Link
		registered := make(chan struct{})
		l = open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
			if now == young {
				select {
				case <-registered:
				default: // as a daemon does with a sender it does not know
					return wire.BatchReply{Incarnation: 2, Problem: "say hello first"}, nil
				}
			}
			return now.Deliver(ctx, b)
		}), Options{OnReincarnation: func(before, now int64) {
			if before != 1 || now != 2 {
				t.Errorf("incarnation %d became %d", before, now)
			}
			if err := l.Send(numbered(50, 50)...); !errors.Is(err, ErrStale) {
				t.Errorf("Send before Reset: %v", err)
			}
			close(registered)
			l.Reset(now)
			_ = l.Send(numbered(1, 1)...)
		}, OnRefused: func(n int, why error) { t.Errorf("%d refused: %v", n, why) }})
		_ = l.Send(numbered(1, 3)...)
		synctest.Wait()
		now = young
		_ = l.Send(numbered(4, 9)...)
		synctest.Wait()
		_ = l.Send(numbered(2, 3)...)
		synctest.Wait()
		if !inOrder(old.numbers(), 3) || !inOrder(young.numbers(), 3) {
			t.Errorf("the old process received %v, the new one %v", old.numbers(), young.numbers())
		}
		if s := l.Stats(); s.Dropped != 7 || s.Queued != 0 || s.Bytes != 0 {
			t.Errorf("stats %+v, want 7 dropped", s)
		}
	})
}

func TestRefusedBatchesDoNotBlockTheRest(t *testing.T) {
	for name, answer := range map[string]func() (wire.BatchReply, error){
		"problem": func() (wire.BatchReply, error) {
			return wire.BatchReply{Incarnation: 1, Problem: "unknown sender"}, nil
		},
		"invalid": func() (wire.BatchReply, error) {
			return wire.BatchReply{}, &api.Error{Problem: api.Invalid, What: "unknown sender"}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReceiver(1)
			refuse := true
			var refused int
			l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
				if refuse {
					return answer()
				}
				return r.Deliver(ctx, b)
			}), Options{OnRefused: func(n int, why error) {
				refused += n
				if why == nil || why.Error() != "unknown sender" {
					t.Errorf("%s: refused for %v", name, why)
				}
			}})
			_ = l.Send(numbered(1, 4)...)
			synctest.Wait()
			refuse = false
			_ = l.Send(numbered(1, 2)...)
			synctest.Wait()
			if refused != 4 || !inOrder(r.numbers(), 2) {
				t.Errorf("%s: %d refused, received %v", name, refused, r.numbers())
			}
			if s := l.Stats(); s.Refused != 4 || s.Queued != 0 || s.Bytes != 0 {
				t.Errorf("%s: stats %+v", name, s)
			}
		})
	}
}

func TestResetDropsTheQueueAndWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		l := open(t, &mishap{to: r, plan: []string{"lost", "hangs"}}, Options{CallTimeout: time.Hour})
		_ = l.Send(numbered(1, 5)...)
		pass(time.Second)
		_ = l.Send(numbered(6, 9)...)
		l.Reset(1)
		_ = l.Send(numbered(1, 2)...)
		synctest.Wait()
		if !inOrder(r.numbers(), 2) {
			t.Errorf("received %v", r.numbers())
		}
		if s := l.Stats(); s.Dropped != 9 || s.Queued != 0 || s.Bytes != 0 || s.Status != Up {
			t.Errorf("stats %+v, want 9 dropped", s)
		}
	})
}

// The outcome of a delivery that was in progress at a Reset does not count any more.
func TestNothingIsToldOfBeforeAReset(t *testing.T) {
	for name, answer := range map[string]func() (wire.BatchReply, error){
		"refused": func() (wire.BatchReply, error) { return wire.BatchReply{Incarnation: 1, Problem: "no"}, nil },
		"another": func() (wire.BatchReply, error) { return wire.BatchReply{Incarnation: 9}, nil },
		"failed":  func() (wire.BatchReply, error) { return wire.BatchReply{}, errBroken },
	} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			l := open(t, deliverFunc(func(context.Context, *wire.Batch) (wire.BatchReply, error) {
				<-gate
				return answer()
			}), Options{
				OnState:         func(s State) { t.Errorf("%s: called with %v", name, s) },
				OnReincarnation: func(a, b int64) { t.Errorf("%s: called with incarnation %d after %d", name, b, a) },
				OnRefused:       func(n int, why error) { t.Errorf("%s: called with %d refused: %v", name, n, why) },
			})
			_ = l.Send(numbered(1, 5)...)
			synctest.Wait()
			l.Reset(1)
			close(gate)
			synctest.Wait()
			if s := l.Stats(); s.Dropped != 5 || s.Refused != 0 || s.Queued != 0 {
				t.Errorf("%s: stats %+v", name, s)
			}
		})
	}
}
