package relay_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/relay"
)

// errNoRoom is the answer of a destination that may take the message later.
var errNoRoom = errors.New("no room")

// inRefusing runs a test with a relay in which a message of n is of the stream n/100, and whose destinations
// answer messages of a refused stream with errNoRoom.
func inRefusing(t *testing.T, change func(*relay.Options[int]), body func(t *testing.T, d *destinations, refuse func(streams ...int), r *relay.Relay[int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &destinations{delivered: map[string][]int{}, answer: func(string, int) error { return nil }}
		o := d.options()
		o.Messages, o.Size, o.Bytes, o.TotalBytes = 8, func(int) int { return 1 }, 0, 0
		o.Stream = func(m int) string { return strconv.Itoa(m / 100) }
		o.Refused = func(err error) (time.Duration, bool) { return 300 * time.Millisecond, errors.Is(err, errNoRoom) }
		o.Held = func(string, int, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.unreachable++
		}
		if change != nil {
			change(&o)
		}
		r := relay.New(o)
		defer r.Close()
		body(t, d, func(streams ...int) {
			d.set(func(_ string, m int) error {
				if slices.Contains(streams, m/100) {
					return errNoRoom
				}
				return nil
			})
		}, r)
	})
}

// A refused message holds up those of its stream, in order, and no others; it is delivered when it is not
// refused any more.
func TestRefusedStreamWaits(t *testing.T) {
	inRefusing(t, nil, func(t *testing.T, d *destinations, refuse func(...int), r *relay.Relay[int]) {
		refuse(1)
		send(t, r, "a", 101, 201, 102, 202)
		synctest.Wait()
		if got := d.seen(); !slices.Equal(got.a, []int{201, 202}) || got.unreachable != 1 {
			t.Errorf("while stream 1 is refused: %+v", got)
		}
		send(t, r, "a", 203)
		synctest.Wait()
		if got := d.seen(); !slices.Equal(got.a, []int{201, 202, 203}) || got.calls != 4 {
			t.Errorf("a message after a pause of the other stream has begun: %+v", got)
		}
		time.Sleep(10 * time.Second)
		if got := d.seen(); got.calls < 12 || got.calls > 25 || got.unreachable != 1 || len(got.dropped) != 0 {
			t.Errorf("ten seconds of refusals, with pauses from 300 ms to 1 s: %+v", got)
		}
		refuse()
		time.Sleep(2 * time.Second)
		if got := d.seen(); !slices.Equal(got.a, []int{201, 202, 203, 101, 102}) || !r.Idle("a") {
			t.Errorf("when it is not refused any more: %+v", got)
		}
		wantStats(t, r, relay.Stats{Delivered: 5})
	})
}

// A refused message is dropped after Patience, and those after it are still delivered.
func TestRefusedForLong(t *testing.T) {
	inRefusing(t, nil, func(t *testing.T, d *destinations, refuse func(...int), r *relay.Relay[int]) {
		refuse(1)
		send(t, r, "a", 101)
		time.Sleep(40 * time.Second)
		send(t, r, "a", 102)
		time.Sleep(25 * time.Second)
		if got := d.seen(); !slices.Equal(got.dropped, []int{101}) || r.Idle("a") {
			t.Errorf("after 65 s and 25 s: %+v", got)
		}
		refuse()
		time.Sleep(2 * time.Second)
		if got := d.seen(); !slices.Equal(got.a, []int{102}) || !r.Idle("a") {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

// A destination that cannot be reached holds up a refused stream too, and is called for it when it is back.
func TestRefusedAndUnreachable(t *testing.T) {
	inRefusing(t, nil, func(t *testing.T, d *destinations, refuse func(...int), r *relay.Relay[int]) {
		refuse(1)
		send(t, r, "a", 101, 201)
		synctest.Wait()
		d.set(func(string, int) error { return away })
		send(t, r, "a", 202, 301)
		time.Sleep(10 * time.Second)
		refuse(2)
		time.Sleep(3 * time.Second)
		if got := d.seen(); !slices.Equal(got.a, []int{201, 101, 301}) && !slices.Equal(got.a, []int{201, 301, 101}) {
			t.Errorf("%+v", got)
		}
		refuse()
		time.Sleep(3 * time.Second)
		wantStats(t, r, relay.Stats{Delivered: 4})
	})
}

// The messages of refused streams leave room for those of others: one has a quarter, all have half.
func TestRefusedAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		bytes     int
		one, many string
	}{
		"messages": {0, "2 messages of the same application, for which it has no room, wait for it, which is the limit (a quarter of max_messages)",
			"4 messages for which it has no room wait for it, which is the limit (half of max_messages)"},
		"bytes": {8, "2 bytes of messages of the same application, for which it has no room, wait for it; the limit is 2", "4 bytes of messages for which it has no room wait for it; the limit is 4"},
	} {
		t.Run(name, func(t *testing.T) {
			inRefusing(t, func(o *relay.Options[int]) {
				if o.Bytes = c.bytes; c.bytes > 0 {
					o.Messages = 1000
				}
			}, func(t *testing.T, d *destinations, refuse func(...int), r *relay.Relay[int]) {
				refused := func(m int, want string) {
					t.Helper()
					full, _ := errors.AsType[*relay.FullError](r.Send("a", m))
					if full == nil || !full.Refused || !strings.Contains(full.Bound, want) {
						t.Errorf("message %d: %+v, want %q", m, full, want)
					}
				}
				refuse(1, 2, 3)
				for _, s := range []int{100, 200, 300} {
					send(t, r, "a", s)
					synctest.Wait()
				}
				send(t, r, "a", 101)
				refused(102, c.one)
				refused(201, c.many)
				for _, m := range []int{400, 500} {
					send(t, r, "a", m)
					synctest.Wait()
				}
				refuse()
				time.Sleep(2 * time.Second)
				if got := d.seen(); len(got.a) != 6 || len(got.dropped) != 0 {
					t.Errorf("%+v", got)
				}
				send(t, r, "a", 103, 104, 105) // nothing of what was refused counts any more
				time.Sleep(time.Second)
				wantStats(t, r, relay.Stats{Delivered: 9, Refused: 2})
			})
		})
	}
}
