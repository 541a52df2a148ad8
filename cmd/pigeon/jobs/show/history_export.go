package show

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// usageWriter writes jobs to a file.
type usageWriter interface {
	write([]api.JobUsage) error
	close() error
}

// formatOf returns what makes the writer of a file, by its name.
func formatOf(path string) (func(io.Writer) usageWriter, error) {
	switch filepath.Ext(path) {
	case ".csv":
		return newCSV, nil
	case ".jsonl":
		return newJSONLines, nil
	}
	return nil, fmt.Errorf("--export %s: the name of the file says its format; end it in .csv, or in .jsonl for JSON lines", path)
}

// exportTo writes the selected jobs of all frontends to the file, those of each frontend in the
// order of their ends. The file appears when it is complete.
func (o *historyOptions) exportTo(ctx context.Context, c *connect.Cluster, said *historyNotes) (err error) {
	part := o.export + "." + rand.Text() + ".part" // another export to the same file may run
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("the jobs could not be written: %w; name another file with --export", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	format, err := formatOf(o.export)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w, n := format(f), 0
	err = c.Each(ctx, func(f *client.Frontend) error {
		var failed error
		return errors.Join(eachPage(ctx, c, f, o.query, func(p *api.HistoryPage) bool {
			said.about(p)
			n += len(p.Jobs)
			failed = w.write(p.Jobs)
			return failed == nil
		}, 0), failed)
	})
	if err = errors.Join(err, w.close(), f.Close()); err != nil {
		return fmt.Errorf("%w; %s was not written", err, o.export)
	}
	if err := os.Rename(part, o.export); err != nil {
		return err
	}
	fmt.Fprintf(said.w, "%s written to %s\n", sched.Count(n, "job", "jobs"), o.export)
	return nil
}

// usageColumns are the names of the columns of CSV: the keys of the JSON.
func usageColumns() (names []string) {
	for f := range reflect.TypeFor[exportedUsage]().Fields() {
		names = append(names, f.Tag.Get("csv"))
	}
	return names
}

// exportedUsage is a row of CSV. wait and longest_wait are empty where no task started.
type exportedUsage struct {
	Job         string   `csv:"job"`
	Name        string   `csv:"name"`
	Owner       string   `csv:"owner"`
	Submitter   string   `csv:"submitter"`
	App         string   `csv:"app"`
	Class       string   `csv:"class"`
	State       string   `csv:"state"`
	Reason      string   `csv:"reason"`
	Submitted   float64  `csv:"submitted"`
	Ended       float64  `csv:"ended"`
	Tasks       int64    `csv:"tasks"`
	Completed   int64    `csv:"completed"`
	Failed      int64    `csv:"failed"`
	Attempts    int64    `csv:"attempts"`
	Again       int64    `csv:"again"`
	SlotSeconds float64  `csv:"slot_seconds"`
	LostSeconds float64  `csv:"lost_slot_seconds"`
	Wait        *float64 `csv:"wait"`
	LongestWait *float64 `csv:"longest_wait"`
}

func exported(j *api.JobUsage) exportedUsage {
	e := exportedUsage{
		Job: j.Job, Name: j.Name, Owner: j.Owner, Submitter: j.Submitter, App: j.App, Class: j.Class, State: string(j.State), Reason: j.Reason, Submitted: j.Submitted, Ended: j.Ended,
		Tasks: int64(j.Tasks), Completed: int64(j.Completed), Failed: int64(j.Failed), Attempts: int64(j.Attempts), Again: int64(j.Again), SlotSeconds: j.SlotSeconds, LostSeconds: j.LostSeconds,
	}
	if j.Started {
		e.Wait, e.LongestWait = &j.Wait, &j.LongestWait
	}
	return e
}

// csvWriter writes a header and a line for each job.
type csvWriter struct {
	w      *csv.Writer
	header bool
}

func newCSV(w io.Writer) usageWriter { return &csvWriter{w: csv.NewWriter(w)} }

func (c *csvWriter) begin() error {
	if c.header {
		return nil
	}
	c.header = true
	return c.w.Write(usageColumns())
}

func (c *csvWriter) write(list []api.JobUsage) error {
	if err := c.begin(); err != nil {
		return err
	}
	for i := range list {
		row := reflect.ValueOf(exported(&list[i]))
		var cells []string
		for _, v := range row.Fields() {
			cells = append(cells, cell(v))
		}
		if err := c.w.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

// cell returns the text of a value.
func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return cell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	default:
		return text.PlainCell(v.String())
	}
}

func (c *csvWriter) close() error {
	err := c.begin()
	c.w.Flush()
	return errors.Join(err, c.w.Error())
}

// linesWriter writes a JSON object for each job, as 'pigeon history --jobs -o json' prints it.
type linesWriter struct{ w *bufio.Writer }

func newJSONLines(w io.Writer) usageWriter { return linesWriter{bufio.NewWriter(w)} }

func (l linesWriter) write(list []api.JobUsage) error { return cli.WriteAllJSON(l.w, list) }

func (l linesWriter) close() error { return l.w.Flush() }
