package delay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
)

func TestFor(t *testing.T) {
	for name, tc := range map[string]struct {
		wait, ends, took time.Duration
		goesOn           bool
	}{
		"the whole time":         {time.Second, time.Hour, time.Second, true},
		"no time":                {0, time.Hour, 0, true},
		"less than none":         {-time.Second, time.Hour, 0, true},
		"until the context ends": {time.Hour, time.Second, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.ends)
				defer cancel()
				began := time.Now()
				if got := delay.For(ctx, tc.wait); got != tc.goesOn || time.Since(began) != tc.took {
					t.Errorf("%v after %v, want %v after %v", got, time.Since(began), tc.goesOn, tc.took)
				}
			})
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if delay.For(ended, 0) || delay.For(ended, time.Hour) {
		t.Error("a context that has ended goes on")
	}
}
