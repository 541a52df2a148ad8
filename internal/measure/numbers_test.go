package measure

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.00", 123.4: "123", 99999: "99999", 0.01234: "0.0123", -2.345: "-2.35", 1e-9: "0.000000", math.Inf(1): "-",
	} {
		if got := Significant(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
	if got := Fixed(math.NaN(), 2) + Fixed(1.005, 1); got != "-1.0" {
		t.Errorf("%q", got)
	}
}
