package journal

import (
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLastEndedAgainstModel ends jobs at drawn times, accepts some keys again, and
// requests the last ones before and after the journal is reopened.
func TestLastEndedAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const retention = time.Hour
		dir, clock := t.TempDir(), newClock()
		defer os.RemoveAll(dir) // each of the checks leaves 35 MB
		o := Options{Retention: retention, Now: clock.Now, NoSync: true}
		j, _, _ := open(t, dir, o)
		type end struct {
			key string
			at  time.Duration // of the journal's age
		}
		var ends []end
		var age time.Duration
		for i := range rapid.IntRange(0, 30).Draw(rt, "jobs") {
			pause := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, 20 * time.Minute}).Draw(rt, "pause")
			clock.advance(pause)
			age += pause
			key := string(rune('a' + i))
			must(t, appendWait(j, accept(key, 1), jobEnd(key, clock.Now())))
			ends = append(ends, end{key, age})
		}
		check := func(most int) {
			var want, got []string
			for _, e := range ends {
				if e.at >= age-retention {
					want = append(want, e.key)
				}
			}
			want = want[max(0, len(want)-most):]
			must(t, j.LastEnded(most, func(e *Ended, ago time.Duration) {
				got = append(got, e.Key)
				if i := slices.IndexFunc(ends, func(o end) bool { return o.key == e.Key }); ago != age-ends[i].at {
					rt.Errorf("%s ended %v ago, want %v", e.Key, ago, age-ends[i].at)
				}
			}))
			if !slices.Equal(got, want) {
				rt.Fatalf("the last %d are %q, want %q", most, got, want)
			}
		}
		most := rapid.IntRange(1, 40).Draw(rt, "most")
		check(most)
		must(t, j.Close())
		j, _, _ = open(t, dir, o)
		check(most)
		must(t, j.Close())
	})
}
