package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// codecVersion is the first byte of every value. A decoder refuses what it does
// not know, so an older program never misreads a newer journal.
const codecVersion = 1

var (
	errShort = errors.New("the value ends in the middle of a field")
	errLong  = errors.New("the value goes on after its last field")
)

func putUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
func putInt(b []byte, v int64) []byte   { return binary.AppendVarint(b, v) }

func putString[T string | []byte](b []byte, s T) []byte {
	return append(putUint(b, uint64(len(s))), s...)
}

func putFloat(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

func putJobID(b []byte, id sched.JobID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Hi), id.Lo)
}

func putStrings(b []byte, list []string) []byte {
	b = putUint(b, uint64(len(list)))
	for _, s := range list {
		b = putString(b, s)
	}
	return b
}

// reader takes fields off a value. It reads a string, not bytes, so that the
// strings it gives out share that one copy. The first fault sticks and every
// later field reads as zero.
type reader struct {
	s   string
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err, r.s = err, ""
	}
}

func (r *reader) version() {
	if v := r.byte(); r.err == nil && v != codecVersion {
		r.fail(fmt.Errorf("it has version %d, this program knows version %d", v, codecVersion))
	}
}

func (r *reader) byte() byte {
	s := r.take(1)
	if len(s) == 0 {
		return 0
	}
	return s[0]
}

// take returns the next n bytes, "" when there are fewer.
func (r *reader) take(n uint64) string {
	if n > uint64(len(r.s)) {
		r.fail(errShort)
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) uint() uint64 {
	var v uint64
	for i := 0; i < len(r.s) && i < binary.MaxVarintLen64; i++ {
		c := r.s[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.s = r.s[i+1:]
			return v
		}
	}
	r.fail(errShort)
	return 0
}

func (r *reader) int() int64 {
	u := r.uint()
	return int64(u>>1) ^ -int64(u&1) // zigzag, as binary.AppendVarint writes it
}

func (r *reader) int32() int32 {
	v := r.uint()
	if v > math.MaxInt32 {
		r.fail(fmt.Errorf("a number of %d is above the limit of %d", v, math.MaxInt32))
		return 0
	}
	return int32(v)
}

func (r *reader) string() string { return r.take(r.uint()) }

func (r *reader) uint64() uint64 {
	s := r.take(8)
	if len(s) < 8 {
		return 0
	}
	var v uint64
	for i := range 8 {
		v = v<<8 | uint64(s[i])
	}
	return v
}

func (r *reader) float() float64     { return math.Float64frombits(r.uint64()) }
func (r *reader) jobID() sched.JobID { return sched.JobID{Hi: r.uint64(), Lo: r.uint64()} }

// count reads a number of elements that take at least one byte each, so that a
// damaged number cannot ask for more memory than the value itself takes.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.s)) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *reader) strings() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.string()
	}
	return list
}

// end returns the sticking fault, or that something is left over.
func (r *reader) end() error {
	if r.err == nil && r.s != "" {
		return errLong
	}
	return r.err
}
