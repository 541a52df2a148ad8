package master

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helloOf is the hello of a process of a node whose slots claim these numbers, plus
// one; 0 claims none.
func helloOf(node string, incarnation int64, claims ...int32) *wire.Hello {
	h := &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: node}, Incarnation: incarnation}
	for i, claim := range claims {
		h.Slots = append(h.Slots, wire.Slot{Slot: int32(i), Number: claim}) //nolint:gosec // few
	}
	return h
}

// A first master numbers as slots come, a repeated hello gets the same numbers, and
// a successor of a process new ones.
func TestNumbersAreDense(t *testing.T) {
	s, now := newNumbers(), time.Now()
	for _, c := range []struct {
		hello *wire.Hello
		want  []int32
	}{
		{helloOf("a", 1, 0, 0), []int32{1, 2}},
		{helloOf("b", 1, 0), []int32{3}},
		{helloOf("a", 1, 0, 0), []int32{1, 2}},
		{helloOf("a", 1, 1, 2), []int32{1, 2}},
		{helloOf("a", 1, 1, 2, 0), []int32{1, 2, 4}},
		{helloOf("b", 2, 0), []int32{5}},
	} {
		got, conflicts, err := s.settle(c.hello, now)
		if err != nil || conflicts != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of process %d is given %v, %v, %v; want %v", c.hello.Sender, c.hello.Incarnation, got, conflicts, err, c.want)
		}
	}
}

// A master that follows another one lets workers claim what they had, for a second,
// and gives nothing of it to others.
func TestNumbersAreClaimed(t *testing.T) {
	s, now := newNumbers(), time.Now()
	s.followed(now)
	var busy *api.Error
	if _, _, err := s.settle(helloOf("new", 1, 0), now); !errors.As(err, &busy) || busy.Problem != api.Busy || busy.RetryAfter <= 0 || busy.RetryAfter > claimWait {
		t.Errorf("a new slot is answered %v", err)
	}
	if got, _, err := s.settle(helloOf("a", 1, 8, 3), now); err != nil || !slices.Equal(got, []int32{8, 3}) {
		t.Errorf("claimed were 7 and 2, and given is %v, %v", got, err)
	}
	for _, c := range []struct {
		hello *wire.Hello
		want  []int32
	}{
		{helloOf("b", 1, 8), []int32{8}},
		{helloOf("b", 1, 5, 3, 8), []int32{3, 8}},
		{helloOf("a", 2, 8), []int32{8}},
		{helloOf("a", 1, 3, 8), []int32{3, 8}}, // its own, the other way round
		{helloOf("c", 1, 6, 6), []int32{6}},
		{helloOf("d", 1, addrmap.Limit+1), []int32{addrmap.Limit + 1}},
	} {
		if got, conflicts, err := s.settle(c.hello, now); err != nil || got != nil || !slices.Equal(conflicts, c.want) {
			t.Errorf("%s of process %d claims and is given %v, conflicts %v, %v; want conflicts %v", c.hello.Sender, c.hello.Incarnation, got, conflicts, err, c.want)
		}
	}
	if got, _, err := s.settle(helloOf("new", 1, 0, 0), now.Add(claimWait)); err != nil || !slices.Equal(got, []int32{9, 10}) {
		t.Errorf("after the wait new slots are given %v, %v; want what is above all claims", got, err)
	}
}

// A claim of a number that this master did not give tells that there was one before
// it: others may have claims too.
func TestClaimTellsOfAPredecessor(t *testing.T) {
	s, now := newNumbers(), time.Now()
	if _, _, err := s.settle(helloOf("a", 1, 4), now); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.settle(helloOf("b", 1, 0), now); err == nil {
		t.Error("a new slot got a number at once")
	}
}

// Numbers that others know of, of nodes that are dead or not back yet, are nobody
// else's: new ones are above them.
func TestNumbersAboveWhatIsKnown(t *testing.T) {
	s, now := newNumbers(), time.Now()
	s.heard(7, now) // a frontend's
	if _, _, err := s.settle(helloOf("new", 1, 0), now); err == nil {
		t.Error("a new slot got a number at once although there was a master before")
	}
	told := helloOf("a", 1, 3)
	told.Highest = 9
	if got, _, err := s.settle(told, now); err != nil || !slices.Equal(got, []int32{3}) {
		t.Errorf("claimed was 2, and given is %v, %v", got, err)
	}
	s.heard(4, now)
	s.heard(addrmap.Limit+1, now) // no master gave that
	if got, _, err := s.settle(helloOf("new", 1, 0), now.Add(claimWait)); err != nil || !slices.Equal(got, []int32{10}) {
		t.Errorf("a new slot is given %v, %v; want what is above all that were heard of", got, err)
	}
	if got, _, err := s.settle(helloOf("late", 1, 8), now.Add(2*claimWait)); err != nil || !slices.Equal(got, []int32{8}) {
		t.Errorf("one that comes back late is given %v, %v", got, err)
	}
}

func TestNumbersRunOut(t *testing.T) {
	s, now := newNumbers(), time.Now()
	s.next = addrmap.Limit - 1
	if _, _, err := s.settle(helloOf("a", 1, 0, 0), now); err == nil {
		t.Error("more numbers were given than there are")
	}
	if got, _, err := s.settle(helloOf("a", 1, 0), now); err != nil || got[0] != addrmap.Limit {
		t.Errorf("the last number is %v, %v", got, err)
	}
}

// Whatever is said: a number is one slot's of one process, for ever.
func TestNumbersAreNeverShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := newNumbers(), time.Now()
		mine := map[holder]int32{}
		owners := map[int32]holder{}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(*rapid.T) { now = now.Add(claimWait / 2) },
			"hello": func(t *rapid.T) {
				claims := rapid.SliceOfN(rapid.Int32Range(0, 12), 1, 4).Draw(t, "claims")
				h := helloOf(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), rapid.Int64Range(1, 2).Draw(t, "incarnation"), claims...)
				got, conflicts, err := s.settle(h, now)
				if err != nil || len(conflicts) > 0 {
					if got != nil {
						t.Fatalf("refused, and given %v", got)
					}
					return
				}
				for i, n := range got {
					who := holderOf(h, i)
					if old, known := mine[who]; known && old != n {
						t.Fatalf("%v had %d and is given %d", who, old, n)
					}
					if other, taken := owners[n]; taken && other != who {
						t.Fatalf("%d is given to %v and to %v", n, other, who)
					}
					if claims[i] != 0 && claims[i] != n {
						t.Fatalf("%v claimed %d and is given %d", who, claims[i], n)
					}
					mine[who], owners[n] = n, who
				}
			},
		})
	})
}
