package measure

// heap is a binary heap. With place set, each element is informed of its position, so
// that it can be removed or moved when its key changes.
type heap[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T, int) // is called with the new position of an element, -1 when it left
}

func (h *heap[T]) len() int { return len(h.items) }

func (h *heap[T]) top() T { return h.items[0] }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	h.put(len(h.items)-1, x)
	h.up(len(h.items) - 1)
}

func (h *heap[T]) pop() T { return h.remove(0) }

func (h *heap[T]) remove(i int) T {
	x, end := h.items[i], len(h.items)-1
	last := h.items[end]
	h.items = h.items[:end]
	if i < end {
		h.put(i, last)
		h.fix(i)
	}
	if h.place != nil {
		h.place(x, -1)
	}
	return x
}

// fix restores the order after the key of element i changed.
func (h *heap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap[T]) put(i int, x T) {
	h.items[i] = x
	if h.place != nil {
		h.place(x, i)
	}
}

func (h *heap[T]) swap(i, j int) {
	a, b := h.items[i], h.items[j]
	h.put(i, b)
	h.put(j, a)
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap[T]) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && h.before(h.items[right], h.items[child]) {
			child = right
		}
		if !h.before(h.items[child], h.items[i]) {
			break
		}
		h.swap(i, child)
		i = child
	}
	return i > start
}
