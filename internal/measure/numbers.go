package measure

import (
	"math"
	"strconv"
)

// Fixed formats the number with the given number of decimals.
func Fixed(x float64, decimals int) string {
	if missing(x) {
		return "-"
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Significant formats the number with three significant digits, without an exponent and
// with at most six decimals.
func Significant(x float64) string {
	switch {
	case missing(x):
		return "-"
	case x == 0:
		return "0"
	}
	return Fixed(x, min(max(2-int(math.Floor(math.Log10(math.Abs(x)))), 0), 6))
}

func missing(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
