package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Print prints a result for a terminal.
func Print(out io.Writer, r *Result) {
	fmt.Fprintf(out, "%s, seed %d: %d faults in %.0f s (%d could not take place)\n", r.Policy, r.Seed, r.injected(), r.Seconds, r.Void)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(out, "  %-10s %d\n", kind, r.Faults[kind])
	}
	fmt.Fprintf(out, "%d jobs accepted of %d: %d completed, %d cancelled, %d failed, %d lost; %d tasks, %d starts\n", r.Accepted, r.Jobs, r.Completed, r.Cancelled, r.Failed, r.Lost, r.Tasks, r.Attempts)
	fmt.Fprintf(out, "%d attempt numbers started twice; %d tasks ran to their end twice, %d of them without a reason\n", r.StartedTwice, r.RanTwice, r.Unexplained)
	if r.Applications > 0 {
		fmt.Fprintf(out, "%d Spark applications: %d of %d jobs completed\n", r.Applications, r.SparkCompleted, r.SparkJobs)
	}
	for _, x := range r.Recovery {
		fmt.Fprintf(out, "  %s: p50 %.3f s, p99 %.3f s, most %.3f s (%d)\n", x.Kind, float64(x.P50), float64(x.P99), float64(x.Max), len(x.Samples))
	}
	for _, text := range r.LeftOut {
		fmt.Fprintln(out, "left out:", text)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(out, "no contradiction was found")
		return
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s: %s (after %d faults)\n", f.Check, f.What, f.Faults)
	}
	fmt.Fprintf(out, "%d contradictions; everything is kept in %s\n", len(r.Findings), r.Dir)
	fmt.Fprintf(out, "the same programme again: %s\n", r.Command)
	fmt.Fprintf(out, "its shortest beginning that is known to fail: add --faults %d\n", r.Shortest)
}
