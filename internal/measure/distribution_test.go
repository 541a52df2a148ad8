package measure

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPercentileIsNumPysDefault(t *testing.T) {
	tests := []struct {
		sample []float64
		p      float64
		want   float64
	}{
		{[]float64{10, 7, 4, 3, 2, 1}, 50, 3.5}, // the example of numpy.percentile
		{[]float64{15, 20, 35, 40, 50}, 40, 29}, // 20 + 0.6 x 15
		{[]float64{1, 2, 3, 4}, 90, 3.7},
		{[]float64{1, 2, 3, 4}, 99, 3.97},
		{[]float64{1, 2, 3, 4}, 0, 1},
		{[]float64{1, 2, 3, 4}, 100, 4},
		{[]float64{8}, 99, 8},
	}
	for _, tt := range tests {
		slices.Sort(tt.sample)
		if got := Percentile(tt.sample, tt.p); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Percentile(%v, %g) = %.15g, want %g", tt.sample, tt.p, got, tt.want)
		}
	}
	if got := Percentile([]int64{}, 50); !math.IsNaN(got) {
		t.Errorf("percentile of nothing = %g, want NaN", got)
	}
}

func TestPercentilesStayInsideTheSampleAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := rapid.SliceOfN(rapid.Float64Range(-1e12, 1e12), 1, 50).Draw(t, "sample")
		slices.Sort(sample)
		last := sample[0]
		for p := 0.0; p <= 100; p += 0.5 {
			x := Percentile(sample, p)
			if x < last-1e-3 || x > sample[len(sample)-1] {
				t.Fatalf("percentile %g of %v is %g, that before it %g", p, sample, x, last)
			}
			last = x
		}
	})
}

func TestDescribe(t *testing.T) {
	got := Describe([]int64{4e9, 1e9, 3e9, 2e9}, second)
	want := Distribution{Mean: 2.5, P50: 2.5, P90: 3.7, P99: 3.97}
	for i, x := range [][2]Number{{got.Mean, want.Mean}, {got.P50, want.P50}, {got.P90, want.P90}, {got.P99, want.P99}} {
		if math.Abs(float64(x[0]-x[1])) > 1e-12 {
			t.Errorf("figure %d of %+v, want %+v", i, got, want)
		}
	}
}

func TestNumbersThatAreMissingAreNull(t *testing.T) {
	text, err := json.Marshal([]Number{1.5, Missing(), Number(math.Inf(1)), Number(math.Inf(-1)), 0})
	if err != nil || string(text) != "[1.5,null,null,null,0]" {
		t.Fatalf("marshalled %s, %v", text, err)
	}
	var back []Number
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back[0] != 1.5 || !math.IsNaN(float64(back[1])) || back[4] != 0 {
		t.Errorf("read back %v", back)
	}
}
