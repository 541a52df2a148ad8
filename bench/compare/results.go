package compare

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// differences is what differs from the papers, and why: prose, since no run can
// tell it.
//
//go:embed differences.md
var differences string

// Page is docs/results.md: several comparisons and what belongs beside them.
type Page struct {
	// Folders are those that Write wrote, read back; a comparison is called by the
	// last element of its folder.
	Folders []string
	// With are Markdown files whose text becomes part of the page, See those that it
	// names.
	With, See []string
	// Beside, if set, is a folder beside the page that takes a page of all tables
	// and the figures of each comparison; without it the page holds all tables.
	Beside string

	drawn map[string]bool // workloads whose figures one page has
}

// Write prints the page and fills the folder beside it.
func (p *Page) Write(w io.Writer) error {
	var all []*Comparison
	for _, dir := range p.Folders {
		c, err := Read(dir)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	p.drawn = map[string]bool{}
	out := &markdown{w: w}
	out.linef("# Results\n")
	out.linef("Every policy from one core each, in one simulator, on the same workloads. This page is written by `pigeon compare results` (`make results`), from the comparisons whose commands it names; do not edit it.\n")
	p.links(out)
	beside(out, all)
	for _, file := range p.With {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("a part of the page cannot be read: %w; nothing more was written; leave out its --with", err)
		}
		out.linef("%s\n", strings.TrimSpace(string(text)))
	}
	for i, c := range all {
		if err := p.comparison(out, c, p.Folders[i]); err != nil {
			return err
		}
	}
	out.linef("%s\n%s", howToRead, strings.TrimSpace(differences))
	return out.err
}

// links names the pages that were not made by comparisons.
func (p *Page) links(out *markdown) {
	for _, file := range p.See {
		title := filepath.Base(file)
		if text, err := os.ReadFile(file); err == nil {
			if heading, found := strings.CutPrefix(strings.SplitN(string(text), "\n", 2)[0], "# "); found {
				title = heading
			}
		}
		out.linef("- [%s](%s)", title, filepath.Base(file))
	}
	if len(p.See) > 0 {
		out.linef("")
	}
}

// comparison writes one: in short with a page of its own, or all of it.
func (p *Page) comparison(out *markdown, c *Comparison, dir string) error {
	name := filepath.Base(filepath.Clean(dir))
	out.linef("## %s\n", name)
	c.describe(out)
	c.short(out)
	if p.Beside == "" {
		for cell := range c.Cells {
			c.cell(out, cell)
		}
		return nil
	}
	figures, err := p.figures(c, dir, name)
	if err != nil {
		return err
	}
	for _, f := range figures {
		if f.cell < 0 {
			out.linef("![%s](%s/%s)\n", f.Caption, filepath.Base(p.Beside), f.Base)
		}
	}
	out.linef("[All tables and figures of %s](%s/%s.md).\n", name, filepath.Base(p.Beside), name)
	return writeFile(filepath.Join(p.Beside, name+".md"), func(w io.Writer) error {
		own := &markdown{w: w}
		own.linef("# %s: policies compared\n\nWritten by `pigeon compare results`; do not edit it.\n", name)
		c.describe(own)
		for cell := range c.Cells {
			c.cell(own, cell)
		}
		for _, f := range figures {
			own.linef("![%s](%s)\n", f.Caption, f.Base)
		}
		own.linef("%s", howToRead)
		return own.err
	})
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
			return nil, fmt.Errorf("a figure of %s is missing: %w; run its pigeon compare again", dir, err)
		}
		f.Base = name + "-" + f.Base + ".png"
		if err := os.WriteFile(filepath.Join(p.Beside, f.Base), picture, 0o644); err != nil { //nolint:gosec // a figure for all to see
			return nil, fmt.Errorf("a figure cannot be copied: %w; check the space on its disk and run again", err)
		}
		shown = append(shown, f)
	}
	return shown, nil
}

// short is a table for each class: mean and p99 over the first policy's, of all
// policies in all cells.
func (c *Comparison) short(out *markdown) {
	for class, name := range classNames() {
		head, lines := []string{name + " jobs, mean / p99 over " + c.Manifest.Policies[0]}, map[string][]string{}
		names := append(append([]string{}, c.Manifest.Policies...), LongestTask, Clairvoyant)
		for i := range c.Cells {
			if len(c.Cells[i].rows(i, class)) == 0 {
				continue
			}
			head = append(head, TraceName(c.Cells[i].Cell.Trace)+", "+c.Cells[i].Cell.Label())
			for _, policy := range names {
				_, mean := c.completion(i, policy, class, "mean")
				_, p99 := c.completion(i, policy, class, "p99")
				lines[policy] = append(lines[policy], significant(float64(mean.Mean))+" / "+significant(float64(p99.Mean)))
			}
		}
		if len(head) == 1 {
			continue
		}
		out.head(head...)
		for k, policy := range names {
			shown := policy
			if k >= len(c.Manifest.Policies) {
				shown = "*" + policy + "*"
			}
			out.row(append([]string{shown}, lines[policy]...)...)
		}
		out.linef("")
	}
}
