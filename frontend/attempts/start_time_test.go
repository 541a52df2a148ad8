package attempts

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// When an attempt began is kept to the millisecond for 49 days after the submission; an earlier
// time is that of the submission, and a later one is unknown.
func TestStartTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(1, 4e12).Draw(t, "submitted"))
		a := &attempts{submitted: unixSeconds(at)}
		after := time.Duration(rapid.Int64Range(-60e3, 60*24*3600e3).Draw(t, "after")) * time.Millisecond
		got := a.startOf(&wire.Item{Extra: wire.Extra{Started: at.Add(after)}}).unix(a)
		want := unixSeconds(at.Add(max(after, 0)))
		if after > 49*24*time.Hour+17*time.Hour+2*time.Minute+46*time.Second {
			want = 0
		}
		if diff := got - want; (got == 0) != (want == 0) || diff < -0.0021 || diff > 0.0021 {
			t.Fatalf("an attempt that began %v after the submission at %v is said to have begun at %f, want %f", after, at, got, want)
		}
	})
	if s := (&attempts{}).startOf(&wire.Item{}); s != unknownStart {
		t.Errorf("an attempt that never ran began at %d", s)
	}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
