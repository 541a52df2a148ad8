package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

var (
	away = &client.CallError{Sent: false}
	mute = &client.CallError{Sent: true}
)

// destinations are the receivers of calls. answer is called for each call.
type destinations struct {
	mu          sync.Mutex
	answer      func(to string, m int) error
	delivered   map[string][]int
	dropped     []int
	calls       int
	unreachable int
}

func (d *destinations) deliver(ctx context.Context, to string, m int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if err := d.answer(to, m); err != nil {
		return err
	}
	d.delivered[to] = append(d.delivered[to], m)
	return ctx.Err()
}

func (d *destinations) set(answer func(to string, m int) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
}

// seen is the outcome of the messages.
type seen struct {
	a, b, dropped      []int
	calls, unreachable int
}

func (d *destinations) seen() seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	return seen{slices.Clone(d.delivered["a"]), slices.Clone(d.delivered["b"]), slices.Clone(d.dropped), d.calls, d.unreachable}
}

func (d *destinations) options() relay.Options[int] {
	return relay.Options[int]{
		Deliver: d.deliver,
		Size:    func(m int) int { return m },
		Unreachable: func(string, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.unreachable++
		},
		Dropped: func(_ string, m int, _ error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dropped = append(d.dropped, m)
		},

		Destinations: 2, Messages: 5, Setting: "max_messages", Bytes: 100, TotalBytes: 150,
		Patience: time.Minute, MinPause: 100 * time.Millisecond, MaxPause: time.Second,
	}
}

// inRelay runs a test with the time of synctest.
func inRelay(t *testing.T, body func(t *testing.T, d *destinations, r *relay.Relay[int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &destinations{delivered: map[string][]int{}, answer: func(string, int) error { return nil }}
		r := relay.New(d.options())
		defer r.Close()
		body(t, d, r)
	})
}

func send(t *testing.T, r *relay.Relay[int], to string, messages ...int) {
	t.Helper()
	for _, m := range messages {
		if err := r.Send(to, m); err != nil {
			t.Fatalf("message %d to %s: %v", m, to, err)
		}
	}
}

func wantStats(t *testing.T, r *relay.Relay[int], want relay.Stats) {
	t.Helper()
	if got := r.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Messages wait in order for a destination that is away, and those for another one do
// not wait for it.
func TestOrder(t *testing.T) {
	inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
		d.set(func(to string, _ int) error {
			if to == "a" {
				return away
			}
			return nil
		})
		send(t, r, "a", 1, 2, 3)
		send(t, r, "b", 4, 5)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := d.seen()
		if !slices.Equal(got.b, []int{4, 5}) || len(got.a) != 0 || got.unreachable != 1 || r.Idle("a") || !r.Idle("b") {
			t.Errorf("%+v", got)
		}
		if got.calls < 10 || got.calls > 20 {
			t.Errorf("%d calls in ten seconds with pauses from 100 ms to 1 s", got.calls)
		}
		d.set(func(string, int) error { return nil })
		r.Retry("a")
		synctest.Wait()
		if got := d.seen(); !slices.Equal(got.a, []int{1, 2, 3}) {
			t.Errorf("%+v after Retry", got)
		}
		wantStats(t, r, relay.Stats{Delivered: 5})
	})
}

// A message that may have arrived is not sent again; the next one is.
func TestAtMostOnce(t *testing.T) {
	for name, fault := range map[string]error{"sent and not answered": mute, "no error of a call": errors.New("no such address")} {
		t.Run(name, func(t *testing.T) {
			inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
				d.set(func(_ string, m int) error {
					if m == 2 {
						return fault
					}
					return nil
				})
				send(t, r, "a", 1, 2, 3)
				synctest.Wait()
				if got := d.seen(); !slices.Equal(got.a, []int{1, 3}) || !slices.Equal(got.dropped, []int{2}) || got.calls != 3 {
					t.Errorf("%+v", got)
				}
				wantStats(t, r, relay.Stats{Delivered: 2, Dropped: 1})
			})
		})
	}
}

// A destination that stays away is given up message by message, each after Patience.
func TestPatience(t *testing.T) {
	inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
		d.set(func(string, int) error { return away })
		send(t, r, "a", 1)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		send(t, r, "a", 2)
		time.Sleep(35 * time.Second)
		synctest.Wait()
		if got := d.seen(); !slices.Equal(got.dropped, []int{1}) {
			t.Errorf("dropped %v after 65 s and 35 s", got.dropped)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := d.seen(); !slices.Equal(got.dropped, []int{1, 2}) || !r.Idle("a") {
			t.Errorf("dropped %v after 95 s and 65 s", got.dropped)
		}
		wantStats(t, r, relay.Stats{Dropped: 2})
	})
}

// Each bound refuses, and is named.
func TestBounds(t *testing.T) {
	for want, sent := range map[string][]struct {
		to string
		m  int
	}{
		"2 destinations": {{"a", 1}, {"b", 1}, {"c", 1}},
		"5 messages wait for it, which is the limit (max_messages)": {{"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}},
		"60 bytes of messages wait f":                               {{"a", 60}, {"a", 41}},
		"bytes of messages wait for a":                              {{"a", 90}, {"b", 61}},
	} {
		inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
			d.set(func(string, int) error { return away })
			for _, s := range sent[:len(sent)-1] {
				send(t, r, s.to, s.m)
			}
			last := sent[len(sent)-1]
			err := r.Send(last.to, last.m)
			if _, full := errors.AsType[*relay.FullError](err); !full || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
			wantStats(t, r, relay.Stats{Waiting: len(sent) - 1, Refused: 1})
		})
	}
}

// Drain waits for waiting messages, as long as it may; Close does not.
func TestDrainAndClose(t *testing.T) {
	inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
		send(t, r, "a", 1, 2)
		r.Drain(t.Context())
		if err := r.Send("a", 3); !errors.Is(err, relay.ErrClosed) {
			t.Errorf("after Drain: %v", err)
		}
		wantStats(t, r, relay.Stats{Delivered: 2})
	})
	inRelay(t, func(t *testing.T, d *destinations, r *relay.Relay[int]) {
		d.set(func(string, int) error { return away })
		send(t, r, "a", 1)
		enough, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		r.Drain(enough)
		r.Close()
		r.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		wantStats(t, r, relay.Stats{Waiting: 1})
	})
}

// The bytes that wait for the destinations of one group are bounded, and count until each message
// is delivered or dropped.
func TestGroupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destinations{delivered: map[string][]int{}, answer: func(string, int) error { return away }}
		o := d.options()
		o.Destinations, o.GroupBytes = 5, 60
		o.Group = func(to string) string { return map[string]string{"a": "x", "b": "x", "c": "y"}[to] }
		r := relay.New(o)
		defer r.Close()
		refused := func(to string, size int) bool {
			full, ok := errors.AsType[*relay.FullError](r.Send(to, size))
			return ok && strings.Contains(full.Bound, "of x; the limit is 60")
		}
		send(t, r, "a", 40)
		if !refused("b", 21) || !refused("a", 21) {
			t.Error("more than the group may have was accepted")
		}
		send(t, r, "b", 20)
		send(t, r, "c", 20)
		send(t, r, "nobody's", 65)
		d.set(func(string, int) error { return nil })
		time.Sleep(time.Minute)
		wantStats(t, r, relay.Stats{Delivered: 4, Refused: 2})
		send(t, r, "b", 60)
		synctest.Wait()
		wantStats(t, r, relay.Stats{Delivered: 5, Refused: 2})
	})
}

// One user has half of the messages and of the bytes that wait for a destination, and others have the rest.
func TestUsersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destinations{delivered: map[string][]int{}, answer: func(string, int) error { return away }}
		o := d.options()
		o.Messages = 6
		o.User = func(m int) string { return []string{"", "x", "y"}[m%3] }
		r := relay.New(o)
		defer r.Close()
		refused := func(m int, want string) {
			t.Helper()
			if full, _ := errors.AsType[*relay.FullError](r.Send("a", m)); full == nil || full.Bound != want {
				t.Errorf("message %d: %v, want %q", m, full, want)
			}
		}
		send(t, r, "a", 31)
		refused(22, "31 bytes of messages of x wait for it; the limit for one user is 50")
		send(t, r, "a", 1, 4)
		refused(1, "3 messages of x wait for it, which is the limit for one user (half of max_messages)")
		send(t, r, "a", 2, 3)
		send(t, r, "b", 1)
		send(t, r, "a", 3)
		refused(2, "6 messages wait for it, which is the limit (max_messages)")
		d.set(func(string, int) error { return nil })
		time.Sleep(time.Minute)
		send(t, r, "a", 49)
		synctest.Wait()
		wantStats(t, r, relay.Stats{Delivered: 8, Refused: 3})
	})
}

// Many senders, streams and destinations, with calls that fail or are refused now and then: every message
// is delivered or dropped, and those of one stream in order.
func TestStress(t *testing.T) {
	const senders, each, streams = 8, 200, 3
	var mu sync.Mutex
	got := map[string][]int{}
	dropped, calls := 0, 0
	r := relay.New(relay.Options[int]{
		Deliver: func(_ context.Context, to string, m int) error {
			mu.Lock()
			defer mu.Unlock()
			switch calls++; {
			case calls%7 == 0:
				return away
			case calls%11 == 0:
				return mute
			case calls%5 == 0:
				return errNoRoom
			}
			stream := fmt.Sprint(to, " ", m%streams)
			got[stream] = append(got[stream], m)
			return nil
		},
		Stream:  func(m int) string { return strconv.Itoa(m % streams) },
		Refused: func(err error) (time.Duration, bool) { return 0, errors.Is(err, errNoRoom) }, Held: func(string, int, error) {},
		Size: func(int) int { return 1 }, Unreachable: func(string, error) {},
		Dropped: func(string, int, error) {
			mu.Lock()
			defer mu.Unlock()
			dropped++
		},
		Destinations: senders, Messages: 4 * each, Patience: time.Minute, MinPause: time.Microsecond, MaxPause: time.Microsecond,
	})
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for m := range each {
				if err := r.Send(fmt.Sprint(s), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r.Drain(t.Context())
	r.Close()
	delivered := 0
	for to, list := range got {
		delivered += len(list)
		if !slices.IsSorted(list) {
			t.Errorf("stream %s got %v", to, list)
		}
	}
	if delivered+dropped != senders*each || dropped == 0 {
		t.Errorf("%d delivered and %d dropped of %d", delivered, dropped, senders*each)
	}
	if s := r.Stats(); s.Delivered != uint64(delivered) || s.Dropped != uint64(dropped) || s.Waiting != 0 { //nolint:gosec // small
		t.Errorf("%+v", s)
	}
}
