package launch

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Measure is one row of the table of speed and memory: a command that prints one
// JSON object, and the number of it that counts.
type Measure struct {
	Name  string
	Reach string   // the goal, in words
	Args  []string // a program and its arguments
	Key   string   // "submit_to_start.p50"
	Unit  string
	Scale float64 // from the object's unit to Unit
	// UntilReady: the command serves until it is asked to stop, after its object.
	UntilReady bool
}

// Names of the programs of measures.
const (
	Laboratory = "pigeon-bench"
	Product    = "pigeon"
)

// Measures returns the rows of the table, except what go test -bench measures. Several
// rows may come from one command: equal commands run once.
func Measures() []Measure {
	latency := []string{Laboratory, "latency"}
	rate := []string{Laboratory, "launch", "--tasks", "200000"}
	secured := []string{Laboratory, "launch", "--tasks", "200000", "--tls"}
	apart := []string{Laboratory, "launch", "--tasks", "200000", "--isolation", "process"}
	queued := []string{Laboratory, "launch", "--tasks", "1300000", "--in-flight", "10000", "--frontends", "3"}
	process := []string{Laboratory, "launch", "--backend", "exec", "--tasks", "2000", "--workers", "48"}
	dev := []string{Product, "dev"}
	large := []string{Product, "dev", "--groups", "3", "--nodes", "120", "--slots", "1", "--frontends", "10"}
	return []Measure{
		{Name: "submit to start of one sleep task, idle cluster, p50", Reach: "0.3 ms", Args: latency, Key: "submit_to_start.p50", Unit: "ms", Scale: 1e3},
		{Name: "the same, p99", Reach: "1 ms", Args: latency, Key: "submit_to_start.p99", Unit: "ms", Scale: 1e3},
		{Name: "end of a task until its client knows, p50", Args: latency, Key: "end_to_told.p50", Unit: "ms", Scale: 1e3},
		{Name: "the same, p99", Args: latency, Key: "end_to_told.p99", Unit: "ms", Scale: 1e3},
		{Name: "submit to start with mutual TLS, p50", Args: []string{Laboratory, "latency", "--tls"}, Key: "submit_to_start.p50", Unit: "ms", Scale: 1e3},
		{Name: "zero-length sleep tasks through 3 groups", Reach: "20,000/s", Args: rate, Key: "rate", Unit: "tasks/s", Scale: 1},
		{Name: "processor per task at that rate, client included", Reach: "80 us", Args: rate, Key: "cpu_per_task", Unit: "us", Scale: 1e6},
		{Name: "peak memory of all of it", Args: rate, Key: "rss_max", Unit: "MiB", Scale: 1.0 / (1 << 20)},
		{Name: "processor per task with mutual TLS, client included", Reach: "1.25 times as much", Args: secured, Key: "cpu_per_task", Unit: "us", Scale: 1e6},
		{Name: "the same rate, a process for each daemon", Args: apart, Key: "rate", Unit: "tasks/s", Scale: 1},
		{Name: "processor per task of the daemons then", Args: apart, Key: "cpu_per_task", Unit: "us", Scale: 1e6},
		{Name: "processor per task of the client then", Args: apart, Key: "client_cpu_per_task", Unit: "us", Scale: 1e6},
		{Name: "launches with 1,000,000 tasks queued", Reach: "10,000/s", Args: queued, Key: "rate", Unit: "tasks/s", Scale: 1},
		{Name: "peak memory then, payloads and client included", Args: queued, Key: "rss_max", Unit: "MiB", Scale: 1.0 / (1 << 20)},
		{Name: "exec tasks (true) on 48 workers", Args: process, Key: "rate", Unit: "tasks/s", Scale: 1},
		{Name: "pigeon dev, start to ready", Reach: "0.3 s", Args: dev, Key: "took", Unit: "s", Scale: 1, UntilReady: true},
		{Name: "the same with 120 one-slot nodes", Reach: "1 s", Args: large, Key: "took", Unit: "s", Scale: 1, UntilReady: true},
	}
}

// Row is a measure with its values, one a run.
type Row struct {
	Measure
	Values []float64 // sorted
}

// Run makes runs of every command, each in a new process so that none is charged for
// another's memory. programs holds the command of each program.
func Run(ctx context.Context, programs map[string][]string, measures []Measure, runs int, progress func(string)) ([]Row, error) {
	rows := make([]Row, len(measures))
	for i, m := range measures {
		rows[i].Measure = m
	}
	for i := range rows {
		m := &rows[i].Measure
		if i > 0 && slices.Equal(m.Args, measures[i-1].Args) {
			continue
		}
		for k := range runs {
			progress(fmt.Sprintf("run %d of %d of %s", k+1, runs, strings.Join(m.Args, " ")))
			object, err := object(ctx, slices.Concat(programs[m.Args[0]], m.Args[1:], []string{"-o", "json"}), m.UntilReady)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(m.Args, " "), err)
			}
			for j := i; j < len(rows) && slices.Equal(rows[j].Args, m.Args); j++ {
				value, err := number(object, rows[j].Key)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", strings.Join(m.Args, " "), err)
				}
				rows[j].Values = append(rows[j].Values, value*rows[j].Scale)
			}
		}
	}
	for i := range rows {
		slices.Sort(rows[i].Values)
	}
	return rows, nil
}

// object runs a command and returns the first object that it prints.
func object(ctx context.Context, command []string, untilReady bool) (map[string]any, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var got map[string]any
	err = json.NewDecoder(out).Decode(&got)
	if untilReady {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM))
	}
	_, drained := io.Copy(io.Discard, out)
	if err = errors.Join(err, drained, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return got, nil
}

// number finds "a.b" in an object.
func number(object map[string]any, key string) (float64, error) {
	var at any = object
	for name := range strings.SplitSeq(key, ".") {
		inner, _ := at.(map[string]any) // nothing is found in a value that is no object
		at = inner[name]
	}
	if value, ok := at.(float64); ok {
		return value, nil
	}
	return 0, fmt.Errorf("it printed no number %q", key)
}

//go:embed table.md.tmpl
var tableTemplate string

var table = markdown.MustParse(tableTemplate)

// WriteTable writes the rows as a table of Markdown: median and spread.
func WriteTable(out io.Writer, rows []Row) error {
	return table.Write(out, "report", map[string]any{"Machine": Machine(), "Rows": rows})
}

// Median returns the median of the runs.
func (r Row) Median() string { return short(measure.Percentile(r.Values, 50)) }

// Least returns the least value.
func (r Row) Least() string { return short(r.Values[0]) }

// Most returns the greatest value.
func (r Row) Most() string { return short(r.Values[len(r.Values)-1]) }

func short(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// Machine describes this machine in a sentence, its kernel included.
func Machine() string {
	return fmt.Sprintf("Machine: %s, %s.", measure.ThisMachine(), measure.Kernel())
}
