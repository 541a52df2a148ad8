package compare

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// Names of the files in a comparison's folder.
const (
	ManifestFile = "manifest.json"
	ResultsFile  = "results.jsonl"
	TableFile    = "results.csv"
	ReportFile   = "report.md"
	FigureFolder = "figures"
)

// Record is a line of the JSON Lines file: a run's result, as sim and replay
// print it, and which cell it belongs to.
type Record struct {
	measure.Result
	Asked float64        `json:"load_asked"`      // load that the trace was rescaled to; 0: as in the file
	Cell  int            `json:"cell"`            // number of the trace and load, from 0
	State *measure.State `json:"state,omitempty"` // what the cores of the simulated run with the first seed held
}

// MakeFolder makes the folder of a comparison, so that a folder that cannot be
// written to is detected before anything runs.
func MakeFolder(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = files.Writable(dir)
	}
	if err != nil {
		return fmt.Errorf("the folder for the comparison cannot be used: %w; nothing was run; name another by --out", err)
	}
	return nil
}

// Write writes everything into a folder that MakeFolder made, and removes figures that an earlier
// comparison left there.
func (c *Comparison) Write(dir string) error {
	if err := c.writeText(dir); err != nil {
		return err
	}
	figures := filepath.Join(dir, FigureFolder)
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return fmt.Errorf("the folder for figures cannot be made: %w; the runs were made; run the same command again when it can", err)
	}
	if err := c.Figures(figures); err != nil {
		return err
	}
	if err := c.removeOthers(figures); err != nil {
		return fmt.Errorf("the figures of an earlier comparison cannot be removed: %w; this one is complete", err)
	}
	return nil
}

// removeOthers removes the figures in the folder that are not of this comparison; other files stay.
func (c *Comparison) removeOthers(dir string) error {
	kept := map[string]bool{}
	for _, f := range c.figureList() {
		kept[f.Base] = true
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		kind, _, _ := strings.Cut(e.Name(), "-")
		base, ending := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
		isFigure := slices.Contains([]string{"percentiles", "completion", "time"}, kind) && slices.Contains([]string{".svg", ".png"}, ending)
		if isFigure && !kept[base] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// writeText writes all but the figures.
func (c *Comparison) writeText(dir string) error {
	manifest := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(c.Manifest)
	}
	for name, write := range map[string]func(io.Writer) error{
		ManifestFile: manifest, ResultsFile: c.writeResults, TableFile: c.writeTable, ReportFile: c.Report,
	} {
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; the runs were made; name another folder and run again", path, err)
	}
	buffered := bufio.NewWriter(f)
	err = write(buffered)
	if err = errors.Join(err, buffered.Flush(), f.Close()); err != nil {
		return fmt.Errorf("%s is incomplete: %w; check the space on its disk and run again", path, err)
	}
	return nil
}

func (c *Comparison) writeResults(w io.Writer) error {
	e := json.NewEncoder(w)
	return c.Records(func(r Record) error { return e.Encode(r) })
}

// Records calls each with the result of every run, cell by cell, simulated runs first.
func (c *Comparison) Records(each func(Record) error) error {
	for i := range c.Cells {
		cell := &c.Cells[i]
		for k := range cell.Policies {
			p := &cell.Policies[k]
			for n, r := range slices.Concat(p.Results, p.Live) {
				record := Record{Result: r, Asked: cell.Cell.Asked, Cell: i}
				if n == 0 {
					record.State = p.State
				}
				if err := each(record); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeTable writes the rows as CSV; a figure that is missing is an empty field.
func (c *Comparison) writeTable(w io.Writer) error {
	out := csv.NewWriter(w)
	err := out.Write([]string{
		"trace", "load_asked", "load", "workers", "groups", "mode", "policy", "class", "of", "statistic", "runs",
		"value", "value_low", "value_high", "relative", "relative_low", "relative_high",
	})
	for _, r := range c.Rows() {
		cell := &c.Cells[r.Cell].Cell
		record := []string{
			text.PlainCell(cell.Trace), number(cell.Asked), number(cell.Load), strconv.Itoa(c.Manifest.Workers), strconv.Itoa(len(c.Manifest.Groups)),
			r.Mode, text.PlainCell(r.Policy), measure.ClassNames()[r.Class], r.Of, r.What, strconv.Itoa(r.Seeds),
		}
		for _, in := range []Interval{r.Value, r.Relative} {
			record = append(record, number(float64(in.Mean)), number(float64(in.Low)), number(float64(in.High)))
		}
		err = errors.Join(err, out.Write(record))
	}
	out.Flush()
	return errors.Join(err, out.Error())
}

func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// Read reads back what Write wrote, except for the data of figures.
func Read(dir string) (*Comparison, error) {
	fault := func(name string, err error) error {
		return fmt.Errorf("%s is no folder that pigeon-bench compare wrote: %s: %w; run pigeon-bench compare --out %s again", dir, name, err, dir)
	}
	c := &Comparison{}
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err == nil {
		err = json.Unmarshal(text, &c.Manifest)
	}
	if err != nil {
		return nil, fault(ManifestFile, err)
	}
	for _, cell := range c.Manifest.Cells {
		r := CellResult{Cell: cell}
		for _, p := range c.Manifest.Policies {
			r.Policies = append(r.Policies, PolicyResult{Policy: p})
		}
		c.Cells = append(c.Cells, r)
	}
	f, err := os.Open(filepath.Join(dir, ResultsFile))
	if err != nil {
		return nil, fault(ResultsFile, err)
	}
	defer func() { _ = f.Close() }() // only read
	for lines := json.NewDecoder(bufio.NewReader(f)); ; {
		var r Record
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			if err := c.complete(); err != nil {
				return nil, fault(ResultsFile, err)
			}
			return c, nil
		case err != nil:
			return nil, fault(ResultsFile, err)
		}
		if err := c.add(r); err != nil {
			return nil, fault(ResultsFile, err)
		}
	}
}

// add adds a record to its policy and cell.
func (c *Comparison) add(r Record) error {
	if r.Cell < 0 || r.Cell >= len(c.Cells) {
		return fmt.Errorf("a result of cell %d, of %d in the manifest", r.Cell, len(c.Cells))
	}
	cell := &c.Cells[r.Cell]
	for k := range cell.Policies {
		p := &cell.Policies[k]
		switch {
		case p.Policy != r.Policy:
			continue
		case r.Mode == ModeLive:
			p.Live = append(p.Live, r.Result)
		default:
			p.Results = append(p.Results, r.Result)
			if r.State != nil {
				p.State = r.State
			}
			if k == 0 && r.References.Clairvoyant != nil {
				cell.Longest = append(cell.Longest, r.References.LongestTask)
				cell.Clairvoyant = append(cell.Clairvoyant, *r.References.Clairvoyant)
			}
		}
		return nil
	}
	return fmt.Errorf("a result of the policy %q, which the manifest does not name", r.Policy)
}

func (c *Comparison) complete() error {
	for i := range c.Cells {
		for _, p := range c.Cells[i].Policies {
			if len(p.Results) != c.Manifest.Seeds || len(c.Cells[i].Clairvoyant) != c.Manifest.Seeds {
				return fmt.Errorf("%d results of %s on %s, not %d", len(p.Results), p.Policy, c.Cells[i].Cell.Trace, c.Manifest.Seeds)
			}
		}
	}
	if len(c.Cells) == 0 {
		return errors.New("no cell")
	}
	return nil
}
