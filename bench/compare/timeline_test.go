package compare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A timeline keeps the area below every quantity, however often it joins spans,
// and stays within its bound.
func TestTimelineKeepsTheArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := newTimeline()
		at, value, want := int64(0), 0.0, 0.0
		for range rapid.IntRange(1, 200).Draw(t, "changes") {
			step := rapid.Int64Range(0, 1<<uint(rapid.IntRange(1, 40).Draw(t, "scale"))).Draw(t, "step")
			by := float64(rapid.IntRange(-3, 5).Draw(t, "by"))
			want += value * float64(step) / 1e9
			at, value = at+step, value+by
			line.add(WaitingLong, at, by)
		}
		if got := area(line, WaitingLong); math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
			t.Fatalf("the area is %g, want %g", got, want)
		}
		times, values := line.Line(WaitingLong)
		if len(values) > maxSpans+1 || len(times) != len(values) || values[len(values)-1] != value {
			t.Fatalf("%d spans, the last %g, want at most %d, %g", len(values), values[len(values)-1], maxSpans, value)
		}
	})
}
