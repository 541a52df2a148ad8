package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// valueVersion is the first byte of every value. A value of another version is
// refused, so an older program never misreads a newer journal.
const valueVersion = 1

var (
	errShort = errors.New("the value ends in the middle of a field")
	errLong  = errors.New("bytes follow the last field of the value")
)

// coder appends the fields of a value to out or, when reading, sets them from in,
// so that one list of fields serves both directions. Writing changes no field. in is
// a string, so that the strings of a value share one copy of it. After the first
// error of reading every field reads as zero.
type coder struct {
	reading bool
	out     []byte
	in      string
	err     error
	staged  bool      // the payloads written are those of a job with staged files
	shares  bool      // the processes written leave out what they have in common with the one before
	process *api.Exec // that was coded last, in such a way
}

// writer returns a coder that appends a value to b.
func writer(b []byte) coder {
	c := coder{out: b}
	c.version()
	return c
}

// reader returns a coder that reads a value.
func reader(v []byte) coder {
	c := coder{reading: true, in: string(v)}
	c.version()
	return c
}

// end returns the first error of reading, or errLong when bytes are left over.
func (c *coder) end() error {
	if c.err == nil && c.in != "" {
		return errLong
	}
	return c.err
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err, c.in = err, ""
	}
}

// next returns the next n bytes, "" when there are fewer.
func (c *coder) next(n uint64) string {
	if n > uint64(len(c.in)) {
		c.fail(errShort)
		return ""
	}
	s := c.in[:n]
	c.in = c.in[n:]
	return s
}

func (c *coder) version() {
	v := byte(valueVersion)
	if c.byte(&v); c.err == nil && v != valueVersion {
		c.fail(fmt.Errorf("it has version %d, this program reads version %d", v, valueVersion))
	}
}

func (c *coder) byte(v *byte) {
	if !c.reading {
		c.out = append(c.out, *v)
		return
	}
	*v = 0
	if s := c.next(1); s != "" {
		*v = s[0]
	}
}

// bits codes up to eight truth values in one byte, the first in its lowest bit.
func (c *coder) bits(list ...*bool) {
	var b byte
	for i, v := range list {
		if *v {
			b |= 1 << i
		}
	}
	if c.byte(&b); !c.reading {
		return
	}
	for i, v := range list {
		*v = b&(1<<i) != 0
	}
}

// below codes a number of one byte that must stay below a limit.
func below[T ~uint8](c *coder, v *T, limit T, what string) {
	b := byte(*v)
	if c.byte(&b); b >= byte(limit) {
		c.fail(fmt.Errorf("it names %s %d, which does not exist", what, b))
		return
	}
	if c.reading {
		*v = T(b)
	}
}

func (c *coder) uint(v *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *v)
		return
	}
	*v = 0
	u := uint64(0)
	for i := 0; i < len(c.in) && i < binary.MaxVarintLen64; i++ {
		b := c.in[i]
		if i == binary.MaxVarintLen64-1 && b > 1 { // more than 64 bits
			break
		}
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			*v, c.in = u, c.in[i+1:]
			return
		}
	}
	c.fail(errShort)
}

// number codes a number that is not negative and has at most 31 bits.
func number[T ~int | ~int32](c *coder, v *T) {
	u := uint64(max(*v, 0))
	if c.uint(&u); u > math.MaxInt32 {
		c.fail(fmt.Errorf("a number of %d is above the limit of %d", u, math.MaxInt32))
		return
	}
	if c.reading {
		*v = T(u)
	}
}

// signed codes a number of either sign in zigzag, as binary.AppendVarint does.
func signed[T ~int64](c *coder, v *T) {
	n := int64(*v)
	u := uint64(n)<<1 ^ uint64(n>>63)
	c.uint(&u)
	if c.reading {
		*v = T(int64(u>>1) ^ -int64(u&1))
	}
}

func (c *coder) fixed(v *uint64) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint64(c.out, *v)
		return
	}
	*v = 0
	s := c.next(8)
	for i := range len(s) {
		*v = *v<<8 | uint64(s[i])
	}
}

func (c *coder) float(v *float64) {
	u := math.Float64bits(*v)
	c.fixed(&u)
	if c.reading {
		*v = math.Float64frombits(u)
	}
}

func (c *coder) job(v *sched.JobID) {
	c.fixed(&v.Hi)
	c.fixed(&v.Lo)
}

func text[T ~string](c *coder, v *T) {
	n := uint64(len(*v))
	c.uint(&n)
	if c.reading {
		*v = T(c.next(n))
		return
	}
	c.out = append(c.out, *v...)
}

func (c *coder) bytes(v *[]byte) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.reading {
		c.out = append(c.out, *v...)
	} else if s := c.next(n); s != "" {
		*v = []byte(s)
	}
}

// length codes how many elements follow. Each occupies at least one byte, so a
// damaged length cannot make the reader allocate more than the value occupies.
func (c *coder) length(n int) int {
	u := uint64(n)
	c.uint(&u)
	if c.reading && u > uint64(len(c.in)) {
		c.fail(errShort)
		return 0
	}
	return int(u)
}

func (c *coder) texts(v *[]string) {
	if n := c.length(len(*v)); c.reading && n > 0 {
		*v = make([]string, n)
	}
	for i := range *v {
		text(c, &(*v)[i])
	}
}
