package protocol

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Hellos without an answer are the silence of the peer only for the time in which this
// process ran: a jump of the clock between two of them is its own pause.
func TestContactDoesNotCountOwnPause(t *testing.T) {
	limits := Limits{LostAfter: 5 * second, Hello: 2 * second}
	for _, c := range []struct {
		name   string
		misses []sched.Time // when hellos failed
		lost   int          // the one with which the peer is lost; -1 for none
	}{
		{"silence", []sched.Time{1, 2, 3, 4, 5, 6}, 4},
		{"slow hellos", []sched.Time{2, 4, 6}, 2},
		{"pause of 10 s", []sched.Time{1, 2, 12}, -1},
		{"pause as long as one hello too much", []sched.Time{2, 4, 14}, -1},
		{"pause, then silence", []sched.Time{1, 2, 12, 13}, 3},
		{"pause at the start", []sched.Time{3600, 3600, 3600, 3600}, -1},
		{"two pauses", []sched.Time{1, 11, 21}, -1},
	} {
		contact, lost := NewContact(0), -1
		for i, at := range c.misses {
			first, isLost := contact.Missed(limits, at*second)
			if first != (i == 0) {
				t.Errorf("%s: miss %d counts as the first: %v", c.name, i, first)
			}
			if isLost {
				lost = i
			}
		}
		if lost != c.lost {
			t.Errorf("%s: lost with miss %d, want %d", c.name, lost, c.lost)
		}
		if contact.Answered(9000 * second); contact.silence != 0 || contact.lost {
			t.Errorf("%s: an answer does not end the silence", c.name)
		}
	}
}

// When the patience ends while this process is stopped, a newer membership may wait to be
// read: the missing peers do not leave before their whole time has passed once more.
func TestSessionsDoNotCountOwnPause(t *testing.T) {
	for _, p := range []Patience{{NewMaster: 2 * second}, {Node: 2 * second, Frontend: 2 * second}} {
		s := NewSessions(p)
		s.NewMaster(1, 0)
		s.Enter(nodeA, 1)
		s.Enter(frontendA, 1)
		s.NewMaster(2, 0)
		s.Retain(nil, 0)
		if left := s.Expire(10 * second); left != nil {
			t.Errorf("%+v: %v left in a pause", p, left)
		}
		if at, some := s.Next(); !some || at != 12*second {
			t.Errorf("%+v: the next leaves at %v", p, at)
		}
		s.Retain(map[Peer]bool{nodeA: true}, 11*second)
		if left := s.Expire(12 * second); !slices.Equal(left, []Peer{frontendA}) {
			t.Errorf("%+v: %v left after the pause, want %v", p, left, frontendA)
		}
	}
}
