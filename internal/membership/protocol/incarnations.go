package protocol

import "slices"

// supersededKept is how many superseded processes of one name are remembered.
// Messages still in transit from an older one make it look like a new process.
const supersededKept = 8

// Incarnations are the processes that have borne one name. The zero value has none.
type Incarnations struct {
	current    int64
	superseded []int64 // the latest at the end; never the current one
}

// Current returns the process that bears the name now, 0 before the first.
func (h *Incarnations) Current() int64 { return h.current }

// Enter makes a process the current one and reports whether another one was, or none.
func (h *Incarnations) Enter(incarnation int64) (changed bool) {
	if incarnation == h.current {
		return false
	}
	h.superseded = slices.DeleteFunc(h.superseded, func(old int64) bool { return old == incarnation })
	if h.current != 0 {
		h.superseded = append(h.superseded, h.current)
		h.superseded = h.superseded[max(0, len(h.superseded)-supersededKept):]
	}
	h.current = incarnation
	return true
}

// Superseded reports whether another process took the name after this one had it.
func (h *Incarnations) Superseded(incarnation int64) bool {
	return slices.Contains(h.superseded, incarnation)
}
