package protocol

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const limit = 1 << 10

// rest is that of the numbers in the world: longer than its daemons may be silent.
var rest = Rest{Ended: 2 * lostAfter, Lost: 3 * lostAfter}

// claims are slots from 0 that claim the numbers, plus one.
func claims(numbers ...int32) (list []Claim) {
	for slot, number := range numbers {
		list = append(list, Claim{Slot: int32(slot), Number: number}) //nolint:gosec // few
	}
	return list
}

func TestNumbers(t *testing.T) {
	n := NewNumbers(limit, DefaultRest)
	for i, step := range []struct {
		node        string
		incarnation int64
		claims      []int32
		at          sched.Time
		want        Assignment
	}{
		{"a", 1, []int32{0, 0}, 0, Assignment{Numbers: []int32{1, 2}, New: 2}},
		{"b", 1, []int32{0}, 0, Assignment{Numbers: []int32{3}, New: 1}},
		{"a", 1, []int32{0, 0}, 0, Assignment{Numbers: []int32{1, 2}}},         // again: the answer was lost
		{"a", 1, []int32{2, 1}, 0, Assignment{Conflicts: []int32{2, 1}}},       // swapped
		{"a", 2, []int32{1, 0}, 0, Assignment{Conflicts: []int32{1}, New: 1}},  // its next process
		{"a", 3, []int32{7, 7}, 0, Assignment{Conflicts: []int32{7}}},          // one for both
		{"c", 1, []int32{9}, 0, Assignment{Numbers: []int32{9}}},               // from an earlier master
		{"d", 1, []int32{0}, second / 2, Assignment{New: 1, Wait: second / 2}}, // while others may claim
		{"d", 1, []int32{8}, second / 2, Assignment{Numbers: []int32{8}}},      // which it does
		{"e", 1, []int32{0, 0}, second, Assignment{Numbers: []int32{10, 11}, New: 2}},
		{"f", 1, []int32{limit + 1}, second, Assignment{Conflicts: []int32{limit + 1}}},
	} {
		got := n.Assign(step.node, step.incarnation, claims(step.claims...), step.at)
		if !slices.Equal(got.Numbers, step.want.Numbers) || !slices.Equal(got.Conflicts, step.want.Conflicts) ||
			got.Wait != step.want.Wait || got.New != step.want.New || got.Exhausted {
			t.Errorf("step %d: %s claims %v and is assigned %+v, want %+v", i, step.node, step.claims, got, step.want)
		}
	}
}

// A number that a peer knows is not assigned again, nor any below.
func TestNumbersReserved(t *testing.T) {
	n := NewNumbers(limit, DefaultRest)
	n.Reserve(10, 0)
	n.Reserve(4, 0)
	n.Reserve(limit+1, 0) // no master assigned that
	if got := n.Assign("a", 1, claims(0), 0); got.Wait != ClaimWait {
		t.Errorf("a new slot waits for %v after a peer knew of an earlier master", got.Wait)
	}
	if got := n.Assign("a", 1, claims(0), ClaimWait); !slices.Equal(got.Numbers, []int32{11}) {
		t.Errorf("a new slot is assigned %+v, want what is above all that peers know", got)
	}
}

func TestNumbersRunOut(t *testing.T) {
	n := NewNumbers(limit, DefaultRest)
	n.extend(limit-1, 0)
	if got := n.Assign("a", 1, claims(0, 0), 0); !got.Exhausted || got.Numbers != nil {
		t.Errorf("with one number left two slots are assigned %+v", got)
	}
	if got := n.Assign("a", 1, claims(0), 0); !slices.Equal(got.Numbers, []int32{limit}) {
		t.Errorf("the last number: %+v", got)
	}
}

// When no number is left, those of lost processes are assigned after the rest of ended ones.
func TestNumbersOfLostProcesses(t *testing.T) {
	n := NewNumbers(3, DefaultRest)
	n.Assign("a", 1, claims(0, 0, 0), 0)
	n.Release(0, false, 0)
	n.Release(1, true, second)
	n.Release(2, false, 5*second)
	for _, c := range []struct {
		at   sched.Time
		want []int32
	}{{29 * second, nil}, {30 * second, []int32{1}}, {31 * second, []int32{2}}, {34 * second, nil}, {35 * second, []int32{3}}} {
		if got := n.Assign("b", int64(c.at), claims(0), c.at); !slices.Equal(got.Numbers, c.want) || got.Exhausted != (c.want == nil) {
			t.Errorf("at %v a new slot is assigned %+v, want %v", c.at, got, c.want)
		}
	}
}

// A slot that was lost takes its number back, whether it claims it or its answer was lost.
// A number whose process turns out to have ended rests no longer.
func TestNumbersComeBack(t *testing.T) {
	n := NewNumbers(limit, DefaultRest)
	n.Assign("a", 1, claims(0, 0), 0)
	n.ReleaseAll("a", 1, false, 0)
	if got := n.Assign("b", 1, claims(1), second); !slices.Equal(got.Conflicts, []int32{1}) {
		t.Errorf("another node that claims a number that rests is assigned %+v", got)
	}
	if got := n.Assign("a", 1, claims(0, 2), second); !slices.Equal(got.Numbers, []int32{1, 2}) {
		t.Errorf("a slot that was lost is assigned %+v", got)
	}
	n.ReleaseAll("a", 1, false, 2*second)
	if got := n.Assign("b", 1, claims(0), 60*second); !slices.Equal(got.Numbers, []int32{3}) {
		t.Errorf("while two numbers rest a new slot is assigned %+v", got)
	}
	n.Ended("a", 2)
	if got := n.Assign("a", 2, claims(0, 0), 60*second); !slices.Equal(got.Numbers, []int32{1, 2}) {
		t.Errorf("the next process of the node is assigned %+v", got)
	}
	if got := n.Assign("a", 1, claims(1, 2), 60*second); !slices.Equal(got.Conflicts, []int32{1, 2}) {
		t.Errorf("a process whose numbers others have is assigned %+v", got)
	}
}

// rolling restarts the nodes of a cluster one after another, one a second, and returns the
// highest number, plus one.
func rolling(t *testing.T, n *Numbers, restarts, slots int, at *sched.Time, born *int64, of map[string]int64, claimed map[string][]Claim) {
	t.Helper()
	for i := range restarts {
		*at += second
		*born++
		name := fmt.Sprint("n", i%len(of))
		for _, c := range claimed[name] {
			n.Release(c.Number-1, false, *at)
		}
		n.Ended(name, *born)
		of[name] = *born
		a := n.Assign(name, *born, claims(make([]int32, slots)...), *at)
		if a.Numbers == nil {
			t.Fatalf("restart %d of %s: %+v", i, name, a)
		}
		claimed[name] = claims(a.Numbers...)
	}
}

// 10,000 restarts of 100 nodes use less than twice as many numbers as there are workers,
// also when the master is restarted every 1,000 of them; and a restarted master assigns the
// numbers again that its predecessor's nodes have left.
func TestNumbersAreReused(t *testing.T) {
	const nodes = 100
	for masters, slots := range map[int]int{1: 64, 10: 8} {
		n, at, born := NewNumbers(1<<20, DefaultRest), sched.Time(0), int64(0)
		of, claimed := map[string]int64{}, map[string][]Claim{}
		for i := range nodes {
			of[fmt.Sprint("n", i)] = 0
		}
		for range masters {
			rolling(t, n, 10_000/masters, slots, &at, &born, of, claimed)
			if int(n.next()) >= 2*nodes*slots {
				t.Fatalf("%d masters: %d numbers were assigned to %d workers", masters, n.next(), nodes*slots)
			}
			highest := int32(0)
			for _, list := range claimed {
				for _, c := range list {
					highest = max(highest, c.Number)
				}
			}
			n = NewNumbers(1<<20, DefaultRest)
			n.Reserve(highest, at)
			for name, list := range claimed {
				if a := n.Assign(name, of[name], list, at); len(a.Conflicts) > 0 || a.Numbers == nil {
					t.Fatalf("the next master assigns %+v to %s", a, name)
				}
			}
		}
	}
}

// Whatever is claimed: a number belongs to one slot of one process at a time, and after a
// slot has left to no other until the rest is over.
func TestNumbersAreNeverShared(t *testing.T) {
	type left struct {
		by    Holder
		at    sched.Time
		ended bool
	}
	rapid.Check(t, func(t *rapid.T) {
		n, now := NewNumbers(limit, DefaultRest), sched.Time(0)
		owners, last := map[int32]Holder{}, map[int32]left{}
		process := func(t *rapid.T) (string, int64) {
			return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), rapid.Int64Range(1, 2).Draw(t, "incarnation")
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait":      func(*rapid.T) { now += ClaimWait / 2 },
			"wait long": func(*rapid.T) { now += DefaultRest.Ended / 2 },
			"reserve":   func(t *rapid.T) { n.Reserve(rapid.Int32Range(0, 14).Draw(t, "highest"), now) },
			"leave": func(t *rapid.T) {
				node, incarnation := process(t)
				ended := rapid.Bool().Draw(t, "ended")
				n.ReleaseAll(node, incarnation, ended, now)
				for number, h := range owners {
					if h.Node == node && h.Incarnation == incarnation {
						delete(owners, number)
						last[number] = left{h, now, ended}
					}
				}
			},
			"assign": func(t *rapid.T) {
				list := claims(rapid.SliceOfN(rapid.Int32Range(0, 12), 1, 4).Draw(t, "claims")...)
				node, incarnation := process(t)
				a := n.Assign(node, incarnation, list, now)
				if (len(a.Conflicts) > 0 || a.Wait > 0) && a.Numbers != nil {
					t.Fatalf("refused, and assigned: %+v", a)
				}
				for i, number := range a.Numbers {
					h := Holder{node, incarnation, list[i].Slot}
					if other, taken := owners[number]; taken && other != h {
						t.Fatalf("%d is assigned to %v and to %v", number, other, h)
					}
					rest := map[bool]sched.Time{true: DefaultRest.Ended, false: DefaultRest.Lost}
					if was, ever := last[number]; ever && was.by != h && now-was.at < rest[was.ended] {
						t.Fatalf("%d is assigned to %v %v after %v left, ended: %v", number, h, now-was.at, was.by, was.ended)
					}
					if list[i].Number != 0 && list[i].Number != number {
						t.Fatalf("%v claimed %d and is assigned %d", h, list[i].Number, number)
					}
					for other, by := range owners {
						if by == h && other != number {
							t.Fatalf("%v had %d and is assigned %d", h, other, number)
						}
					}
					owners[number] = h
				}
			},
		})
	})
}

// The highest number that counts falls a minute after the membership's has.
func TestHighest(t *testing.T) {
	var h Highest
	for i, c := range []struct{ observe, at, want int32 }{{5, 0, 5}, {9, 10, 9}, {3, 20, 9}, {4, 30, 9}, {4, 79, 9}, {4, 80, 4}, {2, 90, 4}, {1, 120, 4}, {1, 180, 1}} {
		at := sched.Time(c.at) * second
		if h.Observe(c.observe, at); h.At(at) != c.want {
			t.Errorf("membership %d, %d s: the highest is %d, want %d", i, c.at, h.At(at), c.want)
		}
	}
}
