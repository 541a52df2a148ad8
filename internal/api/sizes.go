package api

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrSizeTooLarge is the error of a size that is larger than any that [ParseBytes] reads.
var ErrSizeTooLarge = errors.New("is too large a size")

// sizeUnits are the letters of units of bytes, each 1024 times the one before.
const sizeUnits = "KMGTP"

// ParseBytes reads a size in bytes: a number and a unit of b, K, M, G, T or P, each 1024 times
// the one before, as Slurm and Docker count them; 2G, 2GB and 2GiB are the same, and 1.5G is
// allowed. A number without a unit is refused, because Slurm reads it as megabytes and Docker
// as bytes.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimRight(text, "KMGTPkmgtpiIbB")
	unit := strings.ToUpper(text[len(number):])
	factor := 1.0
	if unit != "B" {
		letter := unit
		if len(unit) > 1 && (unit[1:] == "B" || unit[1:] == "IB" || unit[1:] == "I") {
			letter = unit[:1]
		}
		at := strings.Index(sizeUnits, letter)
		switch {
		case unit == "" && isNumber(number):
			return 0, fmt.Errorf("%q has no unit; write %[1]sM for megabytes, %[1]sG for gigabytes or %[1]sb for bytes", text)
		case len(letter) != 1 || at < 0: // also without a unit
			return 0, fmt.Errorf("%q is no size; write a number and a unit, such as 512M or 2G", text)
		}
		factor = math.Pow(1024, float64(at+1))
	}
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0, err == nil && n*factor > math.MaxInt64/2 && !math.IsInf(n, 1):
		return 0, fmt.Errorf("%q %w", text, ErrSizeTooLarge)
	case err != nil || !(n >= 0) || math.IsInf(n, 1):
		return 0, fmt.Errorf("%q is no size; write a number and a unit, such as 512M or 2G", text)
	}
	return int64(n * factor), nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// FormatBytes returns a size with the largest unit in which it is a number of at most two
// decimals, which [ParseBytes] reads; else in bytes.
func FormatBytes(n int64) string {
	for i := len(sizeUnits); i > 0; i-- {
		unit := int64(1) << (10 * i)
		if n < unit {
			continue
		}
		if hundredths := n % unit * 100; hundredths%unit == 0 {
			return strconv.FormatFloat(float64(n)/float64(unit), 'f', -1, 64) + sizeUnits[i-1:i]
		}
	}
	return strconv.FormatInt(n, 10) + "b"
}

// RoundBytes returns a size as a person reads it, with about three digits: "253M", "1.52G".
func RoundBytes(n int64) string {
	for i := len(sizeUnits); i > 0; i-- {
		unit := int64(1) << (10 * i)
		if n < unit {
			continue
		}
		decimals := 2
		for whole := n / unit; whole >= 10 && decimals > 0; whole /= 10 {
			decimals--
		}
		return strconv.FormatFloat(float64(n)/float64(unit), 'f', decimals, 64) + sizeUnits[i-1:i]
	}
	return strconv.FormatInt(n, 10) + "b"
}
