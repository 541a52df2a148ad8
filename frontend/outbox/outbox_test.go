package outbox_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/outbox"
)

// disk is a journal whose writes end when the test ends them.
type disk struct {
	writes []func(error)
	refuse error
}

func (d *disk) Append(_ []journal.Record, done func(error)) error {
	if d.refuse == nil {
		d.writes = append(d.writes, done)
	}
	return d.refuse
}

// effect is what the test releases: names of what waits.
type effect struct{ names []string }

// An effect waits for the records of an earlier batch that are still being written: a
// repeated report is not acknowledged before the first is on the disk.
func TestNothingIsReleasedBeforeTheDisk(t *testing.T) {
	for _, fails := range []error{nil, errors.New("no space left")} {
		var d disk
		var released []string
		o := &outbox.Outbox[effect]{Journal: &d, Post: func(do func()) { do() }}
		o.Release = func(e *effect, err error) {
			if !errors.Is(err, fails) {
				t.Errorf("%q is released with %v, want %v", e.names, err, fails)
			}
			released = append(released, e.names...)
		}
		add := func(name string) { o.Effects().names = append(o.Effects().names, name) }
		o.Add(journal.Record{})
		add("first")
		o.Commit()
		for _, name := range []string{"second", "third"} {
			add(name)
			o.Commit()
		}
		if len(released) != 0 {
			t.Fatalf("released before the disk: %q", released)
		}
		d.writes[0](fails)
		if !slices.Equal(released, []string{"first", "second", "third"}) {
			t.Errorf("released %q", released)
		}
		add("fourth") // may repeat an acknowledgement of what could not be written
		if o.Commit(); len(released) != 4 {
			t.Error("an effect waits without anything on its way to the disk")
		}
	}
}

// A batch whose records are not accepted is released with the reason at once, and one without
// anything is not released at all.
func TestRefusedBatch(t *testing.T) {
	refuse := errors.New("closed")
	o := &outbox.Outbox[effect]{Journal: &disk{refuse: refuse}}
	var got []error
	o.Release = func(_ *effect, err error) { got = append(got, err) }
	o.Commit()
	o.Add(journal.Record{})
	o.Commit()
	if len(got) != 1 || !errors.Is(got[0], refuse) {
		t.Errorf("released with %v", got)
	}
}

// Two writes in progress end in order, each with what came after it.
func TestTwoWrites(t *testing.T) {
	var d disk
	var released []string
	o := &outbox.Outbox[effect]{Journal: &d, Post: func(do func()) { do() }}
	o.Release = func(e *effect, _ error) { released = append(released, e.names...) }
	for _, b := range []struct {
		name    string
		records bool
	}{{"a", true}, {"b", true}, {"after b", false}} {
		if b.records {
			o.Add(journal.Record{})
		}
		o.Effects().names = []string{b.name}
		o.Commit()
	}
	d.writes[0](nil)
	if !slices.Equal(released, []string{"a"}) {
		t.Errorf("released %q after the first write", released)
	}
	d.writes[1](nil)
	if !slices.Equal(released, []string{"a", "b", "after b"}) {
		t.Errorf("released %q after both", released)
	}
}
