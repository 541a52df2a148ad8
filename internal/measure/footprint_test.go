package measure

import (
	"testing"
	"unsafe"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestFootprint(t *testing.T) {
	type node struct {
		left, right *node
		name        string
	}
	word := int64(unsafe.Sizeof(uintptr(0)))
	nodeSize := int64(unsafe.Sizeof(node{}))
	shared := &node{name: "shared"}
	ring := &node{}
	ring.left = ring
	for name, tt := range map[string]struct {
		of             any
		bytes, entries int64
	}{
		"nothing":                {nil, 0, 0},
		"a nil pointer":          {(*node)(nil), 0, 0},
		"a number":               {&struct{ n int64 }{}, 8, 0},
		"a string":               {&struct{ s string }{"seven.."}, 2*word + 7, 0},
		"one met twice":          {&node{left: shared, right: shared}, 2*nodeSize + 6, 0},
		"one that points back":   {ring, nodeSize, 0},
		"a slice's capacity":     {&struct{ s []int64 }{make([]int64, 3, 10)}, 3*word + 80, 3},
		"a slice of slices":      {&struct{ s [][]byte }{[][]byte{make([]byte, 5), nil}}, 3*word + 2*3*word + 5, 2 + 5},
		"a slice's pointers":     {&struct{ s []*node }{[]*node{shared, nil}}, 3*word + 2*word + nodeSize + 6, 2},
		"a table":                {&struct{ m map[int64]int64 }{map[int64]int64{1: 1, 2: 2, 3: 3}}, word + 3*17*4/3, 3},
		"a table's values":       {&struct{ m map[int64][]byte }{map[int64][]byte{1: make([]byte, 9)}}, word + (8+3*word+1)*4/3 + 9, 1 + 9},
		"a number behind a face": {&struct{ x any }{int64(7)}, 2*word + 8, 0},
		"a node behind a face":   {&struct{ x any }{shared}, 2*word + nodeSize + 6, 0},
		"a function is not seen": {&struct{ f func() }{func() { _ = shared }}, word, 0},
	} {
		if bytes, entries := Footprint(tt.of); bytes != tt.bytes || entries != tt.entries {
			t.Errorf("%s: %d bytes, %d entries, want %d and %d", name, bytes, entries, tt.bytes, tt.entries)
		}
	}
}

// queue is a core that holds a number of words.
type queue struct{ words []int64 }

func (*queue) Step(sched.Time, sched.Addr, *sched.Message, *sched.Actions) {}

func TestStatePeak(t *testing.T) {
	p := NewStatePeak(2 * stateLooks)
	lengths := []int{1, 5, 2, 3, 7} // after each arrival; every second one is looked at
	for k, n := range lengths {
		p.Arrived(k+1, func(r sched.Role) []sched.Core {
			if r != sched.Worker {
				return nil
			}
			return []sched.Core{&queue{make([]int64, n)}, &queue{make([]int64, 1)}}
		})
	}
	head := int64(unsafe.Sizeof([]int64{}))
	if want := (RoleState{Bytes: head + 40, Entries: 5, All: 2*head + 48}); p.State.Worker != want {
		t.Errorf("workers: %+v, want %+v", p.State.Worker, want)
	}
	if p.State.Master != (RoleState{}) || p.State.ByRole(sched.Shell) != nil {
		t.Errorf("masters, which there are none: %+v", p.State.Master)
	}
}
