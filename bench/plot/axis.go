package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

// logTicks labels 1, 2, 5 of each decade on a range of up to 1.5 decades and
// the powers of ten on a longer one; the other multiples get minor ticks.
type logTicks struct{}

// Ticks implements gonum's plot.Ticker.
func (logTicks) Ticks(lo, hi float64) (ticks []gonum.Tick) {
	decades := math.Log10(hi / lo)
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1.0; m < 10; m++ {
			x := m * math.Pow(10, e)
			if x < lo*(1-1e-9) || x > hi*(1+1e-9) {
				continue
			}
			t := gonum.Tick{Value: x}
			if m == 1 || decades <= 1.5 && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(x, 'f', max(0, -int(e)), 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// niceTicks labels the multiples of 1, 2 or 5 times a power of ten, about six
// of them.
type niceTicks struct{}

// Ticks implements gonum's plot.Ticker.
func (niceTicks) Ticks(lo, hi float64) (ticks []gonum.Tick) {
	const about = 6
	rough := (hi - lo) / about
	if !(rough > 0) {
		return []gonum.Tick{{Value: lo, Label: strconv.FormatFloat(lo, 'g', 3, 64)}}
	}
	decade := math.Pow(10, math.Floor(math.Log10(rough)))
	step := decade
	for _, m := range []float64{2, 5, 10} {
		if step < rough/1.2 {
			step = m * decade
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for k := int(math.Ceil(lo/step - 1e-9)); float64(k) <= hi/step+1e-9; k++ {
		x := float64(k) * step
		ticks = append(ticks, gonum.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', decimals, 64)})
	}
	return ticks
}

// fixedTicks labels the given values.
func fixedTicks(values ...float64) gonum.ConstantTicks {
	ticks := make(gonum.ConstantTicks, len(values))
	for i, v := range values {
		ticks[i] = gonum.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)}
	}
	return ticks
}

// finite reports whether x can be shown on an axis.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
