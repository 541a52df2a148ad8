package outputs

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/markdown"
)

//go:embed report.md.tmpl
var templates string

var report = markdown.MustParse(templates)

// Kept reports whether every task completed, and no output that was read was cut.
func (r *Result) Kept() bool { return r.Failed == 0 && r.Cut == 0 }

// Write writes the result as Markdown; machine describes the machine of the run.
func (r *Result) Write(out io.Writer, machine, when string) error {
	const mb = 1e6
	size := func(bytes int64) string { return markdown.Fixed(float64(bytes)/mb, 1) }
	t := markdown.Table{Head: []string{"what", "measured"}, Rows: [][]string{
		{"tasks", fmt.Sprint(r.Tasks)}, {"written by each (MB)", size(r.Bytes)}, {"slots", fmt.Sprint(r.Slots)},
		{"tasks that failed", fmt.Sprint(r.Failed)},
		{"seconds", markdown.Fixed(float64(r.Seconds), 1)},
		{"written a second (MB)", markdown.Fixed(float64(r.Bytes)*float64(r.Tasks)/mb/float64(r.Seconds), 1)},
		{"log_limit (MB)", size(r.Limit)}, {"most that the folder of outputs had (MB)", size(r.Disk)},
		{"most memory of the node monitor (MB, resident)", size(r.NodeMemory)}, {"and of its guard", size(r.GuardMemory)},
		{"outputs read at the end", fmt.Sprint(r.Checked)}, {"of them whole", fmt.Sprint(r.Whole)},
		{"removed, as reported", fmt.Sprint(r.Removed)}, {"cut", fmt.Sprint(r.Cut)},
	}}
	return report.Write(out, "outputs", map[string]any{"Machine": machine, "When": when, "Table": t})
}
