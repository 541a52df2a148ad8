package leastwait

// bitmap is a set of worker numbers.
type bitmap []uint64

// set adds or removes a number.
func (b *bitmap) set(id int32, in bool) {
	word, bit := int(id)/64, uint64(1)<<(id%64)
	if grow := word + 1 - len(*b); grow > 0 {
		*b = append(*b, make([]uint64, grow)...)
	}
	if in {
		(*b)[word] |= bit
	} else {
		(*b)[word] &^= bit
	}
}

// has reports whether the number is in the set.
func (b bitmap) has(id int32) bool {
	word := int(id) / 64
	return word < len(b) && b[word]>>(id%64)&1 > 0
}
