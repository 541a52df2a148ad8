package spark

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Arrivals returns the times at which the jobs of a stream are submitted: a Poisson
// process of the given rate per second, over the window. The same seed and stream
// have the same times.
func Arrivals(seed, stream uint64, rate float64, window time.Duration) []time.Duration {
	var at []time.Duration
	random := rand.New(rand.NewPCG(seed, stream))
	for t := next(random, rate); t < window; t += next(random, rate) {
		at = append(at, t)
	}
	return at
}

func next(random *rand.Rand, rate float64) time.Duration {
	return time.Duration(random.ExpFloat64() / rate * float64(time.Second))
}

// seconds writes times as the driver reads them.
func seconds(at []time.Duration) string {
	text := make([]string, len(at))
	for i, t := range at {
		text[i] = strconv.FormatFloat(t.Seconds(), 'f', 6, 64)
	}
	return strings.Join(text, ",")
}
