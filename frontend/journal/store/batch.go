package store

// Batch is a list of changes that a store makes as a whole or not at all, in
// their order. The zero Batch is empty.
type Batch struct {
	changes []change
	keys    []byte // the keys of all changes, one behind the other
}

type changeKind uint8

const (
	setKey changeKind = iota
	deleteKey
	deleteRange
)

// change is one change; its key, and for a range its end, lie in keys.
type change struct {
	kind     changeKind
	from, to int // the key
	end      int // deleteRange: the end of the range lies from to up to here
	value    []byte
}

// Set adds a value under a key. The key is copied; the value must not change
// until the batch is appended.
func (b *Batch) Set(key, value []byte) {
	b.add(change{kind: setKey, value: value}, key, nil)
}

// Delete removes a key, which need not exist. The key is copied.
func (b *Batch) Delete(key []byte) { b.add(change{kind: deleteKey}, key, nil) }

// DeleteRange removes the keys from one, included, to another, excluded.
func (b *Batch) DeleteRange(from, end []byte) { b.add(change{kind: deleteRange}, from, end) }

func (b *Batch) add(c change, key, end []byte) {
	c.from = len(b.keys)
	b.keys = append(b.keys, key...)
	c.to = len(b.keys)
	b.keys = append(b.keys, end...)
	c.end = len(b.keys)
	b.changes = append(b.changes, c)
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.changes)
	b.changes, b.keys = b.changes[:0], b.keys[:0]
}
