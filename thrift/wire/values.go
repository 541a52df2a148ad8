package wire

import (
	"math"
	"time"
)

// bits and unbits carry a 64-bit unsigned number in Thrift's signed one.
func bits(u uint64) int64   { return int64(u) }  // a bit pattern
func unbits(i int64) uint64 { return uint64(i) } // a bit pattern

// n32 carries a count in 32 bits, at most the largest of them.
func n32(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) } // bounded

// noNumber stands for a number that is not there.
const noNumber = -1

// numberTo carries a number that may be missing and is not negative.
func numberTo(n *int) int32 {
	if n == nil {
		return noNumber
	}
	return n32(*n)
}

func numberFrom(n int32) *int {
	if n == noNumber {
		return nil
	}
	return new(int(n))
}

// millis32 carries a wait.
func millis32(d time.Duration) int32 { return n32(int(d / time.Millisecond)) }

// millisUp rounds up, so that a short wait does not become zero.
func millisUp(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// millis reads a number of milliseconds, of 0 up to a year.
func millis(n int64) time.Duration {
	const year = 365 * 24 * 3600 * 1000
	return time.Duration(min(max(n, 0), year)) * time.Millisecond
}

// unixNanos carries an instant; 0 stands for none.
func unixNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromUnixNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// mapped translates each element; nil stays nil.
func mapped[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}

// optionalTo translates a struct that may be missing.
func optionalTo[A, T any](v *A, f func(A) *T) *T {
	if v == nil {
		return nil
	}
	return f(*v)
}

// optionalFrom is the inverse.
func optionalFrom[A, T any](t *T, f func(*T) A) *A {
	if t == nil {
		return nil
	}
	v := f(t)
	return &v
}
