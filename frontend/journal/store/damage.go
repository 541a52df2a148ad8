package store

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// DamageError reports that bytes that had been written whole no longer are.
type DamageError struct {
	File string // "" when the store does not name one
	// Within holds every key of the file; it is empty when the store does not tell.
	Within Span
	Err    error
}

// Error returns the text of the store's error.
func (e *DamageError) Error() string { return e.Err.Error() }

// Unwrap returns the store's own error.
func (e *DamageError) Unwrap() error { return e.Err }

// asDamage turns an error by which the store reports damage into a DamageError.
func asDamage(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	d := &DamageError{Err: err}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		d.File = info.Path
		if end := info.Bounds.End.Key; end != nil {
			d.Within = Span{slices.Clone(info.Bounds.Start), append(slices.Clone(end), 0)}
		}
	}
	return d
}

// Span is the keys from one, included, to another, excluded.
type Span struct{ From, To []byte }

// Contains reports whether a key is in the span.
func (s Span) Contains(key []byte) bool {
	return bytes.Compare(s.From, key) <= 0 && bytes.Compare(key, s.To) < 0
}

// Cut returns the part of the span that is in the other one, and whether there is any.
func (s Span) Cut(other Span) (Span, bool) {
	if bytes.Compare(s.From, other.From) < 0 {
		s.From = other.From
	}
	if bytes.Compare(other.To, s.To) < 0 {
		s.To = other.To
	}
	return s, bytes.Compare(s.From, s.To) < 0
}

// Unreadable returns the parts of a span that cannot be read because of damage, in their order. Each begins
// at the last key before the damage that can be read, if there is one in the span: [Disk.Excise] must be able
// to read what it leaves in the table.
func (d *Disk) Unreadable(in Span) (parts []Span, err error) {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: in.From, UpperBound: in.To})
	if err != nil {
		return nil, asDamage(err)
	}
	defer func() {
		if closing := it.Close(); !pebble.IsCorruptionError(closing) { // it repeats the last error
			err = errors.Join(err, closing)
		}
	}()
	for from := in.From; ; {
		last := from
		for ok := it.SeekGE(from); ok; ok = it.Next() {
			last = append([]byte(nil), it.Key()...)
		}
		switch err := it.Error(); {
		case err == nil:
			return parts, nil
		case !pebble.IsCorruptionError(err):
			return nil, err
		}
		from = firstReadable(last, in.To, func(key []byte) bool { it.SeekGE(key); return it.Error() == nil })
		parts = append(parts, Span{last, from})
		if bytes.Equal(from, in.To) {
			return parts, nil
		}
	}
}

// firstReadable returns a key at which the store can be read again, behind one from which it cannot be read
// on, at most to. It takes steps that double, and then halves the last one.
func firstReadable(from, to []byte, readable func([]byte) bool) []byte {
	width := max(len(from), len(to)) + 8 // of all keys as numbers, with some digits more than those in the store
	number := func(key []byte) *big.Int {
		return new(big.Int).SetBytes(append(slices.Clone(key), make([]byte, width-len(key))...))
	}
	key := func(n *big.Int) []byte { return n.FillBytes(make([]byte, width)) }
	low, end := number(from), number(to)
	high := end
	for step := big.NewInt(1); ; step.Lsh(step, 1) {
		next := new(big.Int).Add(low, step)
		if next.Cmp(end) >= 0 {
			break
		}
		if readable(key(next)) {
			high = next
			break
		}
		low = next
	}
	for one := big.NewInt(1); ; {
		middle := new(big.Int).Add(low, high)
		middle.Rsh(middle, 1)
		if middle.Cmp(low) == 0 || new(big.Int).Sub(high, low).Cmp(one) <= 0 {
			break
		}
		if readable(key(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	if high == end {
		return to
	}
	return key(high)
}

// Excise removes a span from the tables without reading it. Nothing is appended meanwhile.
func (d *Disk) Excise(s Span) error {
	return asDamage(d.db.Excise(context.Background(), pebble.KeyRange{Start: s.From, End: s.To}))
}
