package leastwait

import "github.com/pigeon-sched/pigeon/internal/sched"

// heap is a binary heap of workers, least key first, ties by number. Each worker
// records its place, so that it can be moved from the middle.
type heap struct{ list []*worker }

func (w *worker) before(other *worker) bool {
	return w.key < other.key || (w.key == other.key && w.addr.ID < other.addr.ID)
}

func (h *heap) top() *worker {
	if len(h.list) == 0 {
		return nil
	}
	return h.list[0]
}

func (h *heap) push(w *worker, key sched.Time) {
	w.in, w.key, w.place = h, key, len(h.list)
	h.list = append(h.list, w)
	h.up(w.place)
}

func (h *heap) remove(w *worker) {
	last := len(h.list) - 1
	i := w.place
	h.swap(i, last)
	h.list[last] = nil
	h.list = h.list[:last]
	w.in = nil
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h *heap) up(i int) {
	for i > 0 && h.list[i].before(h.list[(i-1)/2]) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *heap) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.list); c++ {
			if h.list[c].before(h.list[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *heap) swap(i, k int) {
	h.list[i], h.list[k] = h.list[k], h.list[i]
	h.list[i].place, h.list[k].place = i, k
}
