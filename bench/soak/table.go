package soak

import (
	"fmt"
	"io"
)

// WriteTable writes a result as Markdown.
func WriteTable(out io.Writer, r *Result) error {
	verdict := "NOT flat"
	switch {
	case !r.Decided():
		verdict = "TOO SHORT to tell"
	case r.Flat():
		verdict = "flat"
	}
	if _, err := fmt.Fprintf(out, `%s: %d tasks (%d failed) in %.0f s under %s, seed %d. Nodes under %d names came %d times; %d stopped in order, %d were killed.
%d samples of every daemon that stays. A measure is flat when its slope over the second half (Theil and Sen) adds at most %.0f %% of its median, or %.0f MiB of memory, %.0f goroutines or descriptors; that half must have %d samples.

| daemon | measure | start | middle | end | slope per 1,000,000 tasks | growth of the second half | bound | flat |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
`, verdict, r.Tasks, r.Failed, r.Seconds, r.Policy, r.Seed, r.Names, r.Came, r.Stopped, r.Killed,
		r.Samples, 100*Share, Least(Memory)/(1<<20), Least(Goroutines), LeastPoints); err != nil {
		return err
	}
	for _, v := range r.Verdicts {
		show := func(x float64) string { return fmt.Sprintf("%.1f", x) }
		if v.Measure == Memory {
			show = func(x float64) string { return fmt.Sprintf("%.2f MiB", x/(1<<20)) }
		}
		flat := "yes"
		if !v.Flat {
			flat = "NO"
		}
		if _, err := fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", v.Daemon, v.Measure,
			show(v.Start), show(v.Middle), show(v.End), show(v.Slope), show(v.Growth), show(v.Bound), flat); err != nil {
			return err
		}
	}
	return nil
}
