package workload

import (
	"errors"
	"strconv"
)

// Why a number was refused; ParseSeconds returns one of these.
var (
	ErrNotANumber = errors.New("not a decimal number")
	ErrNegative   = errors.New("negative")
	ErrTooLarge   = errors.New("above the limit of " + strconv.Itoa(MaxSeconds) + " s")
)

const (
	nanoDigits = 9    // decimals of a second that a nanosecond keeps
	maxDigits  = 64   // significant digits read; those after them cannot matter
	maxExp     = 9999 // an exponent's magnitude; larger ones mean the same
)

// ParseSeconds reads decimal seconds ("12", ".5", "1.28e-06") as nanoseconds,
// rounding to the nearest, halves up. Infinities, NaN, hexadecimal and signs
// other than a leading + are refused. It works on the digits: a float64 would
// lose nanoseconds beyond 26 days.
func ParseSeconds(text []byte) (int64, error) {
	var d decimal
	if err := d.scan(text); err != nil {
		return 0, err
	}
	// The first digit is not zero, so more digits than the limit has before
	// the point pass it, and what remains fits a uint64.
	const limitDigits = 10
	if d.n > 0 && d.point > limitDigits {
		return 0, ErrTooLarge
	}
	if d.n == 0 {
		return 0, nil
	}
	var ns uint64
	whole := d.point + nanoDigits
	for i := range whole {
		ns *= 10
		if i < d.n {
			ns += uint64(d.digits[i] - '0')
		}
	}
	if whole >= 0 && whole < d.n && d.digits[whole] >= '5' {
		ns++
	}
	if ns > MaxSeconds*1e9 {
		return 0, ErrTooLarge
	}
	return int64(ns), nil
}

// decimal is a number as written: 0.d1d2d3... x 10^point, where d1 is not 0.
type decimal struct {
	digits [maxDigits]byte
	n      int // digits kept; 0 for zero
	point  int // digits before the decimal point; negative: zeros after it
}

func (d *decimal) scan(text []byte) error {
	negative := len(text) > 0 && text[0] == '-'
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	seen, afterPoint := false, false
	for i, c := range text {
		if c >= '0' && c <= '9' {
			seen = true
			d.add(c, afterPoint)
			continue
		}
		if c == '.' && !afterPoint {
			afterPoint = true
			continue
		}
		if !seen || c != 'e' && c != 'E' {
			return ErrNotANumber
		}
		exp, err := scanExponent(text[i+1:])
		if err != nil {
			return err
		}
		d.point += exp
		break
	}
	if !seen {
		return ErrNotANumber
	}
	if negative {
		return ErrNegative
	}
	return nil
}

// add appends the next digit; leading zeros only move the point.
func (d *decimal) add(c byte, afterPoint bool) {
	leading := d.n == 0 && c == '0'
	if !leading && d.n < maxDigits {
		d.digits[d.n] = c
		d.n++
	}
	if leading && afterPoint {
		d.point--
	}
	if !leading && !afterPoint {
		d.point++
	}
}

func scanExponent(text []byte) (int, error) {
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, ErrNotANumber
	}
	exp := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, ErrNotANumber
		}
		exp = min(exp*10+int(c-'0'), maxExp)
	}
	return sign * exp, nil
}

// AppendSeconds appends ns >= 0 as decimal seconds with the decimals it needs;
// ParseSeconds is its inverse.
func AppendSeconds(dst []byte, ns int64) []byte {
	dst = strconv.AppendInt(dst, ns/1e9, 10)
	frac := ns % 1e9
	if frac == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(1e8); frac > 0; unit /= 10 {
		dst = append(dst, byte('0'+frac/unit))
		frac %= unit
	}
	return dst
}
