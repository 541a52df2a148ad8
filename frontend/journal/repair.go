package journal

import (
	"errors"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// repairer is a backing from whose tables a damaged part can be removed. Others are made again when they
// are opened.
type repairer interface {
	// Unreadable returns the parts of a span that cannot be read because of damage.
	Unreadable(in store.Span) ([]store.Span, error)
	// Excise removes a span without reading it.
	Excise(s store.Span) error
}

// unreadable is kept of an ended job in place of what was damaged. It cannot be decoded either, so the job
// is treated as before: its key is refused, and its retention ends.
var unreadable = []byte{}

// repairMeta is the name of what is to be done after a repair: the encoded changes of a batch.
const repairMeta = "repair"

// met is damage that was met at work.
type met struct {
	damage  *store.DamageError
	merging bool // by the store, which cannot go on for long without the merge
}

// mend repairs what was damaged, and breaks the journal where the store would otherwise fill up.
func (c *committer) mend(m met) {
	found, err := c.repair(m.damage)
	if found {
		c.sweep.jobs.isDamage(m.damage)
	} else if err == nil && m.merging {
		err = c.elsewhere(m.damage)
	}
	switch _, damaged := errors.AsType[*store.DamageError](err); {
	case err != nil && (m.merging || !damaged):
		c.queue.fail(err)
	case err != nil:
		c.sweep.jobs.stuck = true
	}
}

// elsewhere returns the damage if it is to anything else than ended jobs. A merge that had begun before a repair
// may report what was removed since.
func (c *committer) elsewhere(of *store.DamageError) error {
	s, ok := c.store.(repairer)
	if !ok {
		return of
	}
	in := of.Within
	if len(in.To) == 0 {
		in = store.Span{From: []byte{0}, To: []byte{0xff}}
	}
	if parts, err := s.Unreadable(in); err != nil || len(parts) == 0 {
		return err
	}
	return of
}

// repair removes damage to what the store keeps of ended jobs, so that the store can merge its tables and
// the index of these jobs can be read. A job that was damaged has [unreadable] from then on, and the index is
// made again from the jobs. It reports whether there was damage; damage elsewhere stays, and the opening of the
// journal refuses it. If the process ends meanwhile, the next opening does the rest.
func (c *committer) repair(of *store.DamageError) (found bool, err error) {
	s, ok := c.store.(repairer)
	if !ok {
		return false, nil
	}
	index, err := damagedParts(s, of, prefixExpiry)
	if err != nil {
		return false, err
	}
	jobs, err := damagedParts(s, of, prefixEnded)
	if err != nil || len(index)+len(jobs) == 0 {
		return false, err
	}
	var rest store.Batch
	if err := c.keepReadable(&rest, index, jobs); err != nil {
		return true, err
	}
	c.batch.Reset()
	c.batch.Set(metaKey(repairMeta), rest.AppendTo(nil))
	if err := c.appendBatch(true); err != nil {
		return true, err
	}
	return true, c.excise(s, append(index, jobs...))
}

// excise removes the damaged parts and does what is left of the repair. Nobody looks for a job meanwhile: it
// would seem to be unknown, and its key to be free.
func (c *committer) excise(s repairer, parts []store.Span) error {
	c.readers.Lock()
	defer c.readers.Unlock()
	for _, part := range parts {
		if err := s.Excise(part); err != nil {
			return err
		}
	}
	return c.endRepair()
}

// damagedParts returns the parts of the keys with a prefix that cannot be read, within a damaged file.
func damagedParts(s repairer, of *store.DamageError, prefix byte) ([]store.Span, error) {
	in, ok := store.Span{From: []byte{prefix}, To: []byte{prefix + 1}}, true
	if len(of.Within.To) > 0 {
		in, ok = in.Cut(of.Within)
	}
	if !ok {
		return nil, nil
	}
	return s.Unreadable(in)
}

// keepReadable adds to the batch what the damaged parts have that can be read, and unreadable for each
// damaged job that the index has.
func (c *committer) keepReadable(b *store.Batch, index, jobs []store.Span) error {
	from := []byte{prefixExpiry}
	keep := func(key, value []byte) error {
		_, id, ok := parseExpiry(key)
		if job := endedKey(nil, id); ok && within(jobs, job) {
			v, err := c.store.Get(job)
			switch {
			case c.sweep.jobs.isDamage(err):
				b.Set(job, unreadable)
			case err != nil:
				return err
			case v != nil:
				b.Set(job, v)
			}
		}
		if within(index, key) {
			b.Set(key, append([]byte(nil), value...))
		}
		return nil
	}
	for i := range index {
		if err := c.store.Scan(from, append(append([]byte(nil), index[i].From...), 0), keep); err != nil && !c.sweep.jobs.isDamage(err) {
			return err
		}
		from = index[i].To
	}
	return c.store.Scan(from, []byte{prefixExpiry + 1}, keep)
}

func within(parts []store.Span, key []byte) bool {
	for i := range parts {
		if parts[i].Contains(key) {
			return true
		}
	}
	return false
}

// continueRepair is endRepair at the opening. Damage that is still there is met again.
func (c *committer) continueRepair() error {
	err := c.endRepair()
	if c.sweep.jobs.isDamage(err) {
		return nil
	}
	return err
}

// endRepair does what is left of a repair, if there was one: it sets what was to be kept, and makes the
// index again of the jobs that it lacks. A job of which nothing can be read is kept for one more retention.
func (c *committer) endRepair() error {
	v, err := c.store.Get(metaKey(repairMeta))
	if err != nil || v == nil {
		return err
	}
	c.batch.Reset()
	if err := c.batch.Decode(v); err != nil {
		return err
	}
	if err := c.appendBatch(true); err != nil {
		return err
	}
	indexed, known := make(map[endedAt]bool), make(map[sched.JobID]bool)
	err = c.store.Scan([]byte{prefixExpiry}, []byte{prefixExpiry + 1}, func(key, _ []byte) error {
		if at, id, ok := parseExpiry(key); ok {
			indexed[endedAt{at, id}], known[id] = true, true
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.batch.Reset()
	jobs := int64(len(indexed))
	err = c.store.Scan([]byte{prefixEnded}, []byte{prefixEnded + 1}, func(key, value []byte) error {
		id, at := parseEnded(key), c.sweep.jobs.age.now()
		if e, err := decodeEnded(value); err == nil {
			if at = max(e.At, 0); indexed[endedAt{at, id}] {
				return nil
			}
		} else if known[id] {
			return nil
		}
		jobs++
		c.batch.Set(expiryKey(nil, at, id), nil)
		return nil
	})
	if err != nil {
		return err
	}
	c.sweep.jobs.count.kept.Store(jobs)
	c.sweep.from = nil
	c.saveAge()
	c.batch.Delete(metaKey(repairMeta))
	return c.appendBatch(true)
}
