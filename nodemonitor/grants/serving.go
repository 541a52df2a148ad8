package grants

import (
	"slices"
	"time"
)

// Serving returns, sorted, the applications with room for a grant.
func (t *Table) Serving() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serving()
}

// serving needs the lock.
func (t *Table) serving() []string {
	var list []string
	for id, a := range t.assignments.apps {
		if t.serves(a) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// fullFor is how long an application without room is served all the same. When a
// node stops serving an application, its master moves all tasks that wait for it, which
// is expensive when the next end of a short task makes room again.
const fullFor = 50 * time.Millisecond

// serves reports whether the node's slots are for the application too. Where its
// executors have as many slots as the node, a free slot finds room in them,
// however many grants they hold. It needs the lock.
func (t *Table) serves(a *application) bool {
	room, slots := a.room()
	switch {
	case slots == 0:
		return false
	case slots >= t.cfg.Slots || room > 0:
		a.full = time.Time{}
		return true
	case a.full.IsZero():
		a.full = time.Now()
		time.AfterFunc(fullFor, func() { t.update(func(*ends) {}) }) // calls Changed when the time has passed
	}
	return time.Since(a.full) < fullFor
}
