package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkVerbs is how long a user waits for each verb, as a process of its own, while a cluster
// has 100,000 unfinished tasks: a job of 50,000, and 500 jobs of 100.
//
//	go test ./cmd/pigeon -run '^$' -bench Verbs -benchtime 20x
func BenchmarkVerbs(b *testing.B) {
	runDev(b, "--nodes", "4", "--slots", "4")
	large := succeed(b, "submit", "--tasks", "50000", "--sleep", "1h", "--class", "long", "--name", "large")
	var job string
	for range 500 {
		job = succeed(b, "submit", "--tasks", "100", "--sleep", "1h", "--class", "short", "--name", "small", "--owner", "team/alice")
	}
	other := succeed(b, "submit", "--sleep", "1h")
	for name, args := range map[string][]string{
		"version":       {"version"}, // the start of the program alone
		"status":        {"status"},
		"status-queued": {"status", "--state", "queued"}, "status-running": {"status", "--state", "running"}, "status-owner": {"status", "--owner", "team"},
		"status-job": {"status", job}, "status-large": {"status", large}, "status-json": {"status", "-o", "json", "--limit", "1000"},
		"explain": {"explain", job}, "explain-large": {"explain", large},
		"nodes": {"nodes"}, "shares": {"shares"}, "top": {"top", "--once"}, "events": {"events"}, "history": {"history"}, "whoami": {"whoami"}, "doctor": {"doctor"},
		"submit": {"submit", "--sleep", "1h"}, "cancel": {"cancel", other},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if out, err := exec.Command(os.Args[0], args...).CombinedOutput(); err != nil {
					b.Fatalf("pigeon %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms-p50")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1e3, "ms-max")
		})
	}
}
