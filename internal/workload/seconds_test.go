package workload

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSeconds(t *testing.T) {
	tests := []struct {
		text string
		want int64
		err  error
	}{
		{"0", 0, nil},
		{"0e99999999999", 0, nil},
		{"55.806", 55_806_000_000, nil},
		{"1406471.0", 1_406_471_000_000_000, nil},
		{"81384.12092488888", 81_384_120_924_889, nil},
		{"1.28579e-06", 1286, nil},
		{"12.5E+1", 125_000_000_000, nil},
		{".5", 500_000_000, nil},
		{"5.", 5_000_000_000, nil},
		{"+2", 2_000_000_000, nil},
		{"0.0000000004999", 0, nil},
		{"0.0000000005", 1, nil},
		{"1e-10", 0, nil},
		{"1e-9999", 0, nil},
		{"0000000000000000000001", 1_000_000_000, nil},
		{"4000000000", MaxSeconds * 1e9, nil},
		{"3999999999.9999999995", MaxSeconds * 1e9, nil},
		{"4000000000.000000001", 0, ErrTooLarge},
		{"1e10", 0, ErrTooLarge},
		{"1e99999999999999999999", 0, ErrTooLarge},
		{"-1", 0, ErrNegative},
		{"-0.5", 0, ErrNegative},
		{"", 0, ErrNotANumber},
		{".", 0, ErrNotANumber},
		{"+", 0, ErrNotANumber},
		{"1.2.3", 0, ErrNotANumber},
		{"1e", 0, ErrNotANumber},
		{"1e+", 0, ErrNotANumber},
		{"1e5x", 0, ErrNotANumber},
		{"e5", 0, ErrNotANumber},
		{"0x10", 0, ErrNotANumber},
		{"1_000", 0, ErrNotANumber},
		{"NaN", 0, ErrNotANumber},
		{"Inf", 0, ErrNotANumber},
		{"1,5", 0, ErrNotANumber},
	}
	for _, tt := range tests {
		got, err := ParseSeconds([]byte(tt.text))
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("ParseSeconds(%q) = %d, %v; want %d, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestSecondsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, MaxSeconds*1e9).Draw(t, "ns")
		text := AppendSeconds(nil, ns)
		if got, err := ParseSeconds(text); got != ns || err != nil {
			t.Fatalf("%d ns was written %s and read %d, %v", ns, text, got, err)
		}
	})
}
