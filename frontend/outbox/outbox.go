// Package outbox is a transactional outbox: it delays the effects of a frontend on other
// processes until the records that they depend on are on the journal's disk
// (docs/design.md, section 2).
package outbox

import "github.com/pigeon-sched/pigeon/frontend/journal"

// Journal writes records. done is called when they are on the disk or could not be
// written. If Append returns an error, nothing was accepted and done is not called.
type Journal interface {
	Append(records []journal.Record, done func(error)) error
}

// Outbox collects the records and effects of each batch of the owner goroutine, and
// releases the effects, in order, when the records are durable. It belongs to the owner
// goroutine.
//
//	Add ──▶ batch ──Commit──▶ records ──fsynced──▶ release(effects, nil)
//	                └─without records, behind what is being written──▲
//
// A batch without records waits for the batch that is being written, because it may
// repeat an acknowledgement of a result that is in that batch. For the same reason nothing
// is released as written any more once records could not be written.
type Outbox[E any] struct {
	// Journal, Post and Release are set before the first Commit. Post runs do on the
	// owner goroutine. Release is called with the effects of each batch, and with
	// the reason why its records could not be written.
	Journal Journal
	Post    func(do func())
	Release func(effects *E, err error)

	current batch[E]
	writing *batch[E] // the last on its way to the disk, nil if there is none
	failed  error     // why records could not be written, nil while all were
}

type batch[E any] struct {
	records []journal.Record
	effects E
	used    bool       // the batch has effects
	after   []batch[E] // later batches without records
}

// Add adds a record to the batch.
func (o *Outbox[E]) Add(r journal.Record) { o.current.records = append(o.current.records, r) }

// Effects returns the effects of the batch, to be added to.
func (o *Outbox[E]) Effects() *E {
	o.current.used = true
	return &o.current.effects
}

// Commit ends the batch.
func (o *Outbox[E]) Commit() {
	b := o.current
	if len(b.records) == 0 && !b.used {
		return
	}
	o.current = batch[E]{}
	switch {
	case len(b.records) > 0:
		o.write(&b)
	case o.writing != nil:
		o.writing.after = append(o.writing.after, b)
	default:
		o.Release(&b.effects, o.failed)
	}
}

func (o *Outbox[E]) write(b *batch[E]) {
	o.writing = b
	err := o.Journal.Append(b.records, func(err error) {
		o.Post(func() { o.written(b, err) }) // a stopped daemon releases nothing: its peers repeat their messages after the restart
	})
	if err != nil {
		o.written(b, err)
	}
}

// written is called when a batch is on the disk, or could not be written.
func (o *Outbox[E]) written(b *batch[E], err error) {
	if o.writing == b {
		o.writing = nil
	}
	if o.failed == nil {
		o.failed = err
	}
	o.Release(&b.effects, o.failed)
	for i := range b.after {
		o.Release(&b.after[i].effects, o.failed)
	}
}
