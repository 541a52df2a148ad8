package api

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"512b": 512, "1K": 1 << 10, "2m": 2 << 20, "2G": 2 << 30, "2GB": 2 << 30, "2GiB": 2 << 30, "1.5G": 3 << 29, "1T": 1 << 40, "0M": 0,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is read as %d (%v), want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"2048": "has no unit", "": "is no size", "G": "is no size", "-1G": "is no size", "2X": "is no size", "2GG": "is no size", "NaNG": "is no size",
		"1e300P": "is too large a size", "1e999M": "is too large a size", "9999999P": "is too large a size", "-1e999M": "is no size", "infG": "is no size", "2 cats": "is no size",
	} {
		if got, err := ParseBytes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %d (%v), want the error %q", text, got, err, want)
		}
	}
}

// A size that is printed is read as the same size.
func TestFormatBytesIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, MaxMemory).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "round") {
			n = n >> 20 << 20
		}
		if got, err := ParseBytes(FormatBytes(n)); err != nil || got != n {
			t.Errorf("%d is printed as %s and read as %d (%v)", n, FormatBytes(n), got, err)
		}
	})
	for n, want := range map[int64]string{0: "0b", 1023: "1023b", 253 << 20: "253M", 1023 << 20: "1023M", 1634 << 20: "1.60G", 20 << 20: "20.0M"} {
		if got := RoundBytes(n); got != want {
			t.Errorf("%d is rounded to %s, want %s", n, got, want)
		}
	}
}

// TestLimitsOfARequest: every bound is named in the refusal.
func TestLimitsOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		limits  Limits
		backend Backend
		want    []string
	}{
		"none":                   {Limits{}, BackendApp, nil},
		"all":                    {Limits{MinMemory, 1.5, time.Minute}, BackendExec, nil},
		"of a sleep":             {Limits{Time: MinTimeLimit}, BackendSleep, nil},
		"the most":               {Limits{MaxMemory, MaxCPUs, MaxTimeLimit}, BackendExec, nil},
		"of an application":      {Limits{Time: time.Minute}, BackendApp, []string{"time limit 1m0s", "process of the application"}},
		"too little memory":      {Limits{Memory: MinMemory - 1}, BackendExec, []string{"memory limit", "1M to 1P"}},
		"negative memory":        {Limits{Memory: -1}, BackendExec, []string{"memory limit", "1M to 1P"}},
		"too much memory":        {Limits{Memory: MaxMemory + 1}, BackendExec, []string{"memory limit", "1M to 1P"}},
		"too little of a CPU":    {Limits{CPUs: 0.001}, BackendExec, []string{"processors", "0.01 to 100000"}},
		"negative CPUs":          {Limits{CPUs: -1}, BackendExec, []string{"processors", "0.01 to 100000"}},
		"no number of CPUs":      {Limits{CPUs: math.NaN()}, BackendExec, []string{"processors", "0.01 to 100000"}},
		"too many CPUs":          {Limits{CPUs: math.Inf(1)}, BackendExec, []string{"processors", "0.01 to 100000"}},
		"too short a time limit": {Limits{Time: 1}, BackendExec, []string{"time limit", "1ms to 8760h"}},
		"a negative time limit":  {Limits{Time: -time.Hour}, BackendSleep, []string{"time limit", "1ms to 8760h"}},
		"too long a time limit":  {Limits{Time: MaxTimeLimit + 1}, BackendExec, []string{"time limit", "1ms to 8760h"}},
	} {
		r := Request{App: "etl", Key: "nightly", Backend: c.backend, Limits: c.limits, Tasks: []Task{{ID: "0", Payload: Payload{Backend: c.backend, Exec: &Exec{Argv: []string{"true"}}}}}}
		err := r.Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range append(c.want, `job "nightly"`, "nothing was accepted")[:len(c.want)+2*min(len(c.want), 1)] {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the refusal %q lacks %q", name, err, want)
			}
		}
	}
}
