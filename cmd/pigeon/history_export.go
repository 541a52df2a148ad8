package main

import (
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

	"github.com/parquet-go/parquet-go"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/frontends"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/textcolumns"
)

// rowGroup bounds the jobs that a Parquet file gathers in memory.
const rowGroup = 50_000

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
	case ".parquet":
		return newParquet, nil
	}
	return nil, fmt.Errorf("--export %s: the name of the file says its format; end it in .csv or .parquet", path)
}

// exportTo writes the selected jobs of all frontends to the file, those of each frontend in the
// order of their ends. The file appears when it is complete.
func (o *historyOptions) exportTo(ctx context.Context, c *clusterClient, said *historyNotes) (err error) {
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
	err = c.Each(ctx, func(f *frontends.Frontend) error {
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

// usageColumns are the names of the columns of an export: the keys of the JSON.
func usageColumns() (names []string) {
	for f := range reflect.TypeFor[exportedUsage]().Fields() {
		names = append(names, f.Tag.Get("parquet"))
	}
	return names
}

// exportedUsage is a row of an export. wait and longest_wait are empty where no task started.
type exportedUsage struct {
	Job         string   `parquet:"job"`
	Name        string   `parquet:"name"`
	Owner       string   `parquet:"owner"`
	Submitter   string   `parquet:"submitter"`
	App         string   `parquet:"app"`
	Class       string   `parquet:"class"`
	State       string   `parquet:"state"`
	Reason      string   `parquet:"reason"`
	Submitted   float64  `parquet:"submitted"`
	Ended       float64  `parquet:"ended"`
	Tasks       int64    `parquet:"tasks"`
	Completed   int64    `parquet:"completed"`
	Failed      int64    `parquet:"failed"`
	Attempts    int64    `parquet:"attempts"`
	Again       int64    `parquet:"again"`
	SlotSeconds float64  `parquet:"slot_seconds"`
	LostSeconds float64  `parquet:"lost_slot_seconds"`
	Wait        *float64 `parquet:"wait"`
	LongestWait *float64 `parquet:"longest_wait"`
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
		return textcolumns.PlainCell(v.String())
	}
}

func (c *csvWriter) close() error {
	err := c.begin()
	c.w.Flush()
	return errors.Join(err, c.w.Error())
}

// parquetWriter writes row groups.
type parquetWriter struct {
	w *parquet.GenericWriter[exportedUsage]
}

func newParquet(w io.Writer) usageWriter {
	return &parquetWriter{parquet.NewGenericWriter[exportedUsage](w, parquet.MaxRowsPerRowGroup(rowGroup), parquet.Compression(&parquet.Snappy))}
}

func (p *parquetWriter) write(list []api.JobUsage) error {
	rows := make([]exportedUsage, len(list))
	for i := range list {
		rows[i] = exported(&list[i])
	}
	_, err := p.w.Write(rows)
	return err
}

func (p *parquetWriter) close() error { return p.w.Close() }
