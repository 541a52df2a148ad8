package classes

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What was counted of the short tasks of owners is saved as the header, the cutoff, the number
// of the newest part of the window, the number of owners, the owners from the least to the most
// recently used one, and the first bytes of a SHA-256 over all that. An owner is the length of
// its name, the name, and the number of its parts in which tasks ended, and of each how many
// parts it is older than the newest, its tasks, their time and what of that was past the cutoff.
// Parts are minutes since 1970, because the clock of a frontend counts from there: what another
// process saved ages while none runs.

const (
	overrunsHeader = "pigeon overruns 1\n"
	// maxSaved bounds each number that is read, so that their sums fit.
	maxSaved = 1 << 58
)

// OverrunChanges counts the changes of what SaveOverruns returns, but for those that come with
// the time.
func (l *Learner) OverrunChanges() uint64 { return l.owners.changes }

// SaveOverruns returns what was counted of the short tasks of owners in the window that ends
// now.
func (l *Learner) SaveOverruns(now sched.Time) []byte {
	var saved []byte
	n := uint64(0)
	for _, o := range l.owners.byUse() {
		if o.sum(now).tasks > 0 {
			saved = o.append(saved)
			n++
		}
	}
	b := make([]byte, 0, len(overrunsHeader)+3*binary.MaxVarintLen64+len(saved)+sumBytes)
	b = append(b, overrunsHeader...)
	b = binary.AppendUvarint(b, uint64(l.settings.Cutoff)) //nolint:gosec // not negative
	b = binary.AppendUvarint(b, uint64(now/windowPart))    //nolint:gosec // likewise
	b = binary.AppendUvarint(b, n)
	return seal(append(b, saved...))
}

// append appends an owner whose newest part is that of the instant of the save.
func (o *overruns) append(b []byte) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(o.owner))), o.owner...)
	used := uint64(0)
	for _, p := range o.parts {
		if p.tasks > 0 {
			used++
		}
	}
	b = binary.AppendUvarint(b, used)
	for age := range int64(windowParts) {
		if p := o.at(age); p.tasks > 0 {
			for _, n := range [...]int64{age, p.tasks, int64(p.ran), int64(p.over)} {
				b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // not negative
			}
		}
	}
	return b
}

// at returns the part that is so much older than the newest one.
func (o *overruns) at(age int64) *span {
	return &o.parts[(o.last-age+windowParts)%windowParts]
}

// LoadOverruns adds what was saved to what was counted, as far as it lies in the window that
// ends now. What was counted by another cutoff is left out. A clock that was set back since has
// the save be of this minute. After an error nothing has changed.
func (l *Learner) LoadOverruns(now sched.Time, saved []byte) error {
	r, err := unseal(saved, overrunsHeader)
	if err != nil {
		return err
	}
	cutoff, newest := r.count(), r.count()
	var earlier []*overruns
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		earlier = append(earlier, r.owner(newest))
	}
	if err := r.end(); err != nil || sched.Time(cutoff) != l.settings.Cutoff {
		return err
	}
	part := int64(now / windowPart)
	earlier = slices.DeleteFunc(earlier, func(o *overruns) bool {
		o.setBack(max(0, newest-part))
		return o.sum(now).tasks == 0
	})
	for _, o := range l.owners.byName { // each by itself
		o.advance(now)
	}
	l.owners.resume(earlier)
	return nil
}

// setBack makes all parts so much older.
func (o *overruns) setBack(parts int64) {
	shifted := overruns{owner: o.owner, last: o.last - parts}
	for age := range int64(windowParts) {
		*shifted.at(age) = *o.at(age)
	}
	*o = shifted
}

// count returns a number up to the bound.
func (r *reader) count() int64 {
	n := r.uint()
	if n > maxSaved {
		r.fail(fmt.Errorf("it has the number %d, more than the limit of %d", n, int64(maxSaved)))
		return 0
	}
	return int64(n) //nolint:gosec // checked
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.fail(errShort)
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}

// owner returns the next owner, whose newest part has that number.
func (r *reader) owner(newest int64) *overruns {
	o := &overruns{owner: r.text(), last: newest}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		age := r.count()
		if age >= windowParts {
			r.fail(fmt.Errorf("a part is %d minutes old, and the window has %d", age, windowParts))
			return o
		}
		*o.at(age) = span{tasks: r.count(), ran: sched.Time(r.count()), over: sched.Time(r.count())}
	}
	return o
}
