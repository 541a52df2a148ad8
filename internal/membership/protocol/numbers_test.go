package protocol

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const limit = 1 << 10

// claims are slots from 0 that claim the numbers, plus one.
func claims(numbers ...int32) (list []Claim) {
	for slot, number := range numbers {
		list = append(list, Claim{Slot: int32(slot), Number: number}) //nolint:gosec // few
	}
	return list
}

func TestNumbers(t *testing.T) {
	n := NewNumbers(limit)
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
	n := NewNumbers(limit)
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
	n := NewNumbers(limit)
	n.next = limit - 1
	if got := n.Assign("a", 1, claims(0, 0), 0); !got.Exhausted || got.Numbers != nil {
		t.Errorf("with one number left two slots are assigned %+v", got)
	}
	if got := n.Assign("a", 1, claims(0), 0); !slices.Equal(got.Numbers, []int32{limit}) {
		t.Errorf("the last number: %+v", got)
	}
}

// Whatever is claimed: a number is one slot's of one process, for ever.
func TestNumbersAreNeverShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, now := NewNumbers(limit), sched.Time(0)
		mine, owners := map[Holder]int32{}, map[int32]Holder{}
		t.Repeat(map[string]func(*rapid.T){
			"wait":    func(*rapid.T) { now += ClaimWait / 2 },
			"reserve": func(t *rapid.T) { n.Reserve(rapid.Int32Range(0, 14).Draw(t, "highest"), now) },
			"assign": func(t *rapid.T) {
				list := claims(rapid.SliceOfN(rapid.Int32Range(0, 12), 1, 4).Draw(t, "claims")...)
				node, incarnation := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), rapid.Int64Range(1, 2).Draw(t, "incarnation")
				a := n.Assign(node, incarnation, list, now)
				if (len(a.Conflicts) > 0 || a.Wait > 0) && a.Numbers != nil {
					t.Fatalf("refused, and assigned: %+v", a)
				}
				for i, number := range a.Numbers {
					h := Holder{node, incarnation, list[i].Slot}
					if old, known := mine[h]; known && old != number {
						t.Fatalf("%v had %d and is assigned %d", h, old, number)
					}
					if other, taken := owners[number]; taken && other != h {
						t.Fatalf("%d is assigned to %v and to %v", number, other, h)
					}
					if list[i].Number != 0 && list[i].Number != number {
						t.Fatalf("%v claimed %d and is assigned %d", h, list[i].Number, number)
					}
					mine[h], owners[number] = number, h
				}
			},
		})
	})
}
