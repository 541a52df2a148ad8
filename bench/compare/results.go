package compare

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// differences explains what differs from the papers, and why.
//
//go:embed differences.md
var differences string

// Page is bench/results/simulated.md: several comparisons and what belongs with them.
type Page struct {
	// Folders are those that Write wrote, read back; a comparison is called by the
	// last element of its folder.
	Folders []string
	// With are Markdown files whose text becomes part of the page; See are files to which
	// it links.
	With, See []string
	// Beside, if set, is a folder next to the page that receives, for each comparison,
	// a page with its tables and its figures; without it the page contains all tables.
	Beside string

	drawn map[string]bool // workloads whose figures a page has
}

// resultsReport is what the template "results" has.
type resultsReport struct {
	Links        []link
	Expectations *markdown.Table
	Parts        []string
	Beside       string
	Comparisons  []comparisonReport
	Differences  string
}

type link struct{ Title, File string }

// Write prints the page and fills the folder next to it.
func (p *Page) Write(w io.Writer) error {
	r := resultsReport{Links: p.links(), Differences: strings.TrimSpace(differences)}
	var all []*Comparison
	for _, dir := range p.Folders {
		c, err := Read(dir)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	r.Expectations = expectedBeside(all)
	for _, file := range p.With {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("a part of the page cannot be read: %w; nothing more was written; leave out its --with", err)
		}
		r.Parts = append(r.Parts, strings.TrimSpace(string(text)))
	}
	if p.Beside != "" {
		r.Beside = filepath.Base(p.Beside)
	}
	p.drawn = map[string]bool{}
	for i, c := range all {
		own := comparisonReport{Comparison: c, Name: filepath.Base(filepath.Clean(p.Folders[i]))}
		if p.Beside != "" {
			if err := p.writeBeside(&own, p.Folders[i]); err != nil {
				return err
			}
		}
		r.Comparisons = append(r.Comparisons, own)
	}
	return report.Write(w, "results", r)
}

// links returns the pages that were not made by comparisons, by their headings.
func (p *Page) links() (list []link) {
	for _, file := range p.See {
		l := link{filepath.Base(file), filepath.Base(file)}
		if text, err := os.ReadFile(file); err == nil {
			if heading, found := strings.CutPrefix(strings.SplitN(string(text), "\n", 2)[0], "# "); found {
				l.Title = heading
			}
		}
		list = append(list, l)
	}
	return list
}

// writeBeside writes the comparison's own page and copies its figures next to it.
func (p *Page) writeBeside(own *comparisonReport, dir string) (err error) {
	if own.Figures, err = p.figures(own.Comparison, dir, own.Name); err != nil {
		return err
	}
	return writeFile(filepath.Join(p.Beside, own.Name+".md"), func(w io.Writer) error { return report.Write(w, "comparison", own) })
}

// figures copies those that the pages show: of each family the percentiles, and of
// each workload once, from the first comparison that has it, the distributions and
// lines over time of its last cell, which has the highest load. Their bases become
// the names of the copies.
func (p *Page) figures(c *Comparison, dir, name string) (shown []Figure, err error) {
	if err := os.MkdirAll(p.Beside, 0o755); err != nil {
		return nil, fmt.Errorf("the folder beside the page cannot be made: %w; nothing more was written; name another by --beside", err)
	}
	last := map[int]bool{}
	for _, cells := range c.families() {
		workload := fmt.Sprint(c.title(cells), c.Manifest.Resample > 0)
		last[cells[len(cells)-1]] = !p.drawn[workload]
		p.drawn[workload] = true
	}
	for _, f := range c.figureList() {
		if f.cell >= 0 && !last[f.cell] {
			continue
		}
		picture, err := os.ReadFile(filepath.Join(dir, FigureFolder, f.Base+".png"))
		if err != nil {
			return nil, fmt.Errorf("a figure of %s is missing: %w; run its pigeon-bench compare again", dir, err)
		}
		f.Base = name + "-" + f.Base + ".png"
		if err := os.WriteFile(filepath.Join(p.Beside, f.Base), picture, 0o644); err != nil { //nolint:gosec // a figure for all to see
			return nil, fmt.Errorf("a figure cannot be copied: %w; check the space on its disk and run again", err)
		}
		shown = append(shown, f)
	}
	return shown, nil
}

// Summaries are a table for each class: mean and p99 over the first policy's, of all
// policies in all cells.
func (c *Comparison) Summaries() (tables []markdown.Table) {
	for class, name := range measure.ClassNames() {
		t, lines := markdown.Table{Head: []string{name + " jobs, mean / p99 over " + c.Manifest.Policies[0]}}, map[string][]string{}
		names := append(append([]string{}, c.Manifest.Policies...), LongestTask, Clairvoyant)
		for i := range c.Cells {
			if len(c.Cells[i].rows(i, class)) == 0 {
				continue
			}
			t.Head = append(t.Head, c.Cells[i].Cell.Title())
			for _, policy := range names {
				_, mean := c.completion(i, policy, class, "mean")
				_, p99 := c.completion(i, policy, class, "p99")
				lines[policy] = append(lines[policy], significant(float64(mean.Mean))+" / "+significant(float64(p99.Mean)))
			}
		}
		if len(t.Head) == 1 {
			continue
		}
		for k, policy := range names {
			shown := policy
			if k >= len(c.Manifest.Policies) {
				shown = "*" + policy + "*"
			}
			t.Rows = append(t.Rows, append([]string{shown}, lines[policy]...))
		}
		tables = append(tables, t)
	}
	return tables
}
