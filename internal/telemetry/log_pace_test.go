package telemetry_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// What a peer causes again and again fills no log: a place that logs has its number of lines, and then one a second,
// which says how many were left out. Other places are not affected, nor is debugging.
func TestRepeatedLinesAreLeftOut(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			log, err := telemetry.NewLogger(&out, "debug", format)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20_000 {
				log.With("role", "test").Warn("garbage", "error", errors.New("garbage"), "number", i)
			}
			if n := strings.Count(out.String(), "\n"); n != 1000 {
				t.Errorf("%s: %d lines of 20,000 were logged, want 1000", format, n)
			}
			out.Reset()
			log.Warn("another place")
			for range 2000 {
				log.Debug("debugging")
			}
			if n := strings.Count(out.String(), "\n"); n != 2001 {
				t.Errorf("%s: %d lines, want 2001", format, n)
			}
			out.Reset()
			for range 3 {
				time.Sleep(time.Second)
				for range 10 {
					log.Info("of one place")
				}
			}
			if n := strings.Count(out.String(), "\n"); n != 30 {
				t.Errorf("%s: %d lines of a place that logs little, want 30", format, n)
			}
			out.Reset()
			for i := range 1102 {
				if i == 1100 {
					time.Sleep(time.Second)
					out.Reset()
				}
				log.Warn("garbage")
			}
			if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "100") || !strings.Contains(got, "similar_lines_left_out") {
				t.Errorf("%s: %q, want one line that leaves out 100", format, got)
			}
		})
	}
}

// A line has a bound, whatever a peer has sent.
func TestLinesAreClipped(t *testing.T) {
	var out bytes.Buffer
	log, err := telemetry.NewLogger(&out, "info", "text")
	if err != nil {
		t.Fatal(err)
	}
	log.Warn("garbage", "error", errors.New(strings.Repeat("x", 1<<20)), "name", strings.Repeat("y", 1<<20))
	if out.Len() > 9000 || !strings.Contains(out.String(), "...") {
		t.Errorf("the line has %d bytes", out.Len())
	}
}
