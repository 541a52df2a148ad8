package measure

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// Table prints the results for a terminal: for each run a row per class that
// has jobs. mean to p99 are completion times, queued is the queueing delay of
// tasks, all in seconds. A run's clairvoyant reference, if it was computed, follows it.
func Table(dst io.Writer, results []Result) error {
	t := tabwriter.NewWriter(dst, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "policy\tload\tclass\tjobs\tmean\tp50\tp90\tp99\tqueued p50\tqueued p99\tslowdown p99\tunqueued\t")
	for _, r := range results {
		for class, name := range ClassNames() {
			row := r.Class(class)
			if row.Jobs == 0 {
				continue
			}
			c, q := row.Completion, row.Queueing
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Policy, percent(r.Load), name, row.Jobs,
				significant(c.Mean), significant(c.P50), significant(c.P90), significant(c.P99),
				significant(q.P50), significant(q.P99), significant(row.Slowdown.P99), percent(row.Unqueued))
		}
		for class, name := range ClassNames() {
			row := r.Class(class)
			if row.Jobs == 0 || r.References.Clairvoyant == nil {
				continue
			}
			c := r.References.Clairvoyant.Class(class)
			fmt.Fprintf(t, "(clairvoyant)\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t-\t-\t-\t-\t\n", percent(r.Load), name, row.Jobs,
				significant(c.Mean), significant(c.P50), significant(c.P90), significant(c.P99))
		}
	}
	return t.Flush()
}

func percent(n Number) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return strconv.FormatFloat(float64(n)*100, 'f', 1, 64) + " %"
}

func significant(n Number) string { return Significant(float64(n)) }
