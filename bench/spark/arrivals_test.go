package spark

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A stream is as dense as asked for, ascends within its window, and is the same for
// the same seed and another for another stream.
func TestArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, rate := rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(1, 10).Draw(t, "rate")
		window := 1000 * time.Second
		at := Arrivals(seed, 0, rate, window)
		if want := rate * window.Seconds(); math.Abs(float64(len(at))-want) > 6*math.Sqrt(want) {
			t.Fatalf("%d arrivals, %v were to be expected", len(at), want)
		}
		if !slices.IsSorted(at) || at[0] < 0 || at[len(at)-1] >= window {
			t.Fatalf("from %v to %v, sorted %v", at[0], at[len(at)-1], slices.IsSorted(at))
		}
		if !slices.Equal(at, Arrivals(seed, 0, rate, window)) || slices.Equal(at, Arrivals(seed, 1, rate, window)) {
			t.Fatal("the times do not depend on seed and stream alone")
		}
	})
}

func TestSecondsAreReadBack(t *testing.T) {
	at := Arrivals(1, 2, 3, 10*time.Second)
	for i, text := range strings.Split(seconds(at), ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(x-at[i].Seconds()) > 1e-6 {
			t.Errorf("%v was written as %q", at[i], text)
		}
	}
}

// The streams ask for the load that is promised.
func TestStreamRate(t *testing.T) {
	load := streams * streamRate * streamTasks * streamSleep.Seconds() / sharedSlots
	if math.Abs(load-streamLoad) > 1e-9 {
		t.Errorf("the streams have a load of %v, not %v", load, streamLoad)
	}
}
