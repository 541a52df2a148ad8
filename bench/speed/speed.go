package speed

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/markdown"
	"github.com/pigeon-sched/pigeon/internal/policy"
)

// MemoryLimit is what every run must stay below, in bytes.
const MemoryLimit = 2 << 30

// Measure is one policy on one setting.
type Measure struct {
	Setting string // in words
	Policy  string
	Args    []string // of this program
	Limit   time.Duration
}

// Measures returns the measures: all policies on ngo_90 with 120 workers and on goog_sub
// with 5,000, and pigeon with 20,000 workers and 1,000,000 tasks. The folder contains ngo_90.tr and goog_sub.tr.
func Measures(traces string) ([]Measure, error) {
	small, large := filepath.Join(traces, "ngo_90.tr"), filepath.Join(traces, "goog_sub.tr")
	for _, file := range []string{small, large} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("the trace %s cannot be read: %w; nothing was measured; name the folder that holds it by --traces", file, err)
		}
	}
	var all []Measure
	for _, name := range policy.Compared() {
		all = append(all, measure("ngo_90 on 120 workers", name, time.Second, "--trace", small))
	}
	for _, name := range policy.Compared() {
		limit := 10 * time.Second
		if name == "peacock" || name == "kairos" {
			limit = time.Minute
		}
		all = append(all, measure("goog_sub at load 0.9 on 5,000 workers in 50 groups", name, limit,
			"--trace", large, "--workers", "5000", "--groups", "50", "--cutoff", "1129.532s", "--load", "0.9"))
	}
	return append(all, measure("1,000,000 tasks at load 0.9 on 20,000 workers in 200 groups", "pigeon", 5*time.Second,
		"--trace", "gen:exp,jobs=10000,fanout=100,mean=100ms,load=0.9", "--workers", "20000", "--groups", "200")), nil
}

func measure(setting, name string, limit time.Duration, flags ...string) Measure {
	return Measure{setting, name, slices.Concat([]string{"sim", "--policy", name}, flags, []string{"-o", "json"}), limit}
}

// Row is a measure with its values, one a run.
type Row struct {
	Measure
	Took   []time.Duration // ascending
	Memory int64           // the most of all runs, bytes
}

// Median returns the middle one of the times, of an even number the later one.
func (r Row) Median() time.Duration { return r.Took[len(r.Took)/2] }

// Fastest returns the shortest time.
func (r Row) Fastest() time.Duration { return r.Took[0] }

// Slowest returns the longest time.
func (r Row) Slowest() time.Duration { return r.Took[len(r.Took)-1] }

// Met reports whether the median and the memory are within the limits.
func (r Row) Met() bool { return r.Median() <= r.Limit && r.Memory <= MemoryLimit }

// Run makes the given number of runs of every measure, one after another.
func Run(ctx context.Context, program []string, measures []Measure, runs int, progress func(string)) ([]Row, error) {
	var rows []Row
	for _, m := range measures {
		row := Row{Measure: m}
		for k := range runs {
			progress(fmt.Sprintf("run %d of %d of %s on %s", k+1, runs, m.Policy, m.Setting))
			took, memory, err := one(ctx, slices.Concat(program, m.Args))
			if err != nil {
				return nil, fmt.Errorf("pigeon %s: %w", strings.Join(m.Args, " "), err)
			}
			row.Took, row.Memory = append(row.Took, took), max(row.Memory, memory)
		}
		slices.Sort(row.Took)
		rows = append(rows, row)
	}
	return rows, nil
}

// one runs a command to its end.
func one(ctx context.Context, command []string) (took time.Duration, memory int64, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	took = time.Since(began)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return took, 0, nil // another system
	}
	memory = usage.Maxrss
	if runtime.GOOS == "linux" { // counts KiB
		memory <<= 10
	}
	return took, memory, nil
}

//go:embed table.md.tmpl
var tableTemplate string

var table = markdown.MustParse(tableTemplate)

// WriteTable writes the rows as Markdown.
func WriteTable(out io.Writer, rows []Row) error {
	return table.Write(out, "report", map[string]any{"Limit": int64(MemoryLimit), "Rows": rows})
}
