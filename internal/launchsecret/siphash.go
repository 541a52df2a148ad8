package launchsecret

import "math/bits"

// state is that of SipHash (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF",
// 2012).
type state struct{ v0, v1, v2, v3 uint64 }

func (s *state) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

// absorb mixes one word of the message in, by two rounds.
func (s *state) absorb(word uint64) {
	s.v3 ^= word
	s.round()
	s.round()
	s.v0 ^= word
}

// sipHash returns SipHash-2-4 of one little-endian word of 8 bytes, under a key of two such words.
func sipHash(key0, key1, word uint64) uint64 {
	s := state{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573}
	s.absorb(word)
	s.absorb(8 << 56) // the length of the message, and no further bytes
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}
