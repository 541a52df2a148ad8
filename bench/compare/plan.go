package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Bounds of a comparison; each refusal names the one it met.
const (
	MaxPolicies = 32
	MaxCells    = 64
	MaxRuns     = 100_000
)

// Plan describes a comparison.
type Plan struct {
	// Policies are NAME[:key=value,...]; the others are normalised to the first.
	Policies []string
	// Traces are files or gen:NAME[,key=value...].
	Traces []string
	// Loads to rescale every trace to; none is the load it has.
	Loads []float64
	// Base is the rest of what a run is: cluster, cutoff, seeds, what shapes the
	// workload. Its Trace, Policies and Workload.Load are set from above.
	Base experiment.Description
	// Delay of a message in simulation, one way.
	Delay time.Duration
	// Live, if set, has runs made live too.
	Live *Live
}

// Cell is one workload and load, with its runs.
type Cell struct {
	Trace string  `json:"trace"`
	Asked float64 `json:"load_asked"` // 0: as in the file
	// Jobs, Tasks and Load describe the workload with the first seed.
	Jobs  int     `json:"jobs"`
	Tasks int     `json:"tasks"`
	Load  float64 `json:"load"`

	desc   *experiment.Description
	runs   [][]experiment.Run // by policy, then seed
	digest string             // of the trace's jobs
}

func (p *Plan) check() error {
	loads := len(p.loads())
	switch n := len(p.Policies); {
	case n == 0 || n > MaxPolicies:
		return fmt.Errorf("%d policies are to be compared; nothing was run; name 1 to %d", n, MaxPolicies)
	case len(p.Traces)*loads == 0 || len(p.Traces)*loads > MaxCells:
		return fmt.Errorf("%d traces at %d loads are %d settings; nothing was run; ask for 1 to %d in one comparison", len(p.Traces), loads, len(p.Traces)*loads, MaxCells)
	case n*len(p.Traces)*loads*max(1, p.Base.Seeds) > MaxRuns:
		return fmt.Errorf("%d policies on %d settings with %d seeds are more than %d runs (the limit); nothing was run; ask for fewer seeds", n, len(p.Traces)*loads, p.Base.Seeds, MaxRuns)
	}
	for what, list := range map[string][]string{"policy": p.Policies, "trace": p.Traces} {
		if twice := repeated(list); twice != "" {
			return fmt.Errorf("the %s %q is given twice; nothing was run; leave one out", what, twice)
		}
	}
	if repeated(p.Loads) != 0 || slices.Contains(p.Loads, 0) {
		return fmt.Errorf("the loads %v contain a repeated one, or 0; nothing was run; name each once, or none for the load of the trace", p.Loads)
	}
	for _, spec := range p.Policies {
		if _, _, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second}); err != nil {
			return fmt.Errorf("%w; nothing was run", err)
		}
	}
	if err := p.checkNames(); err != nil || p.Live == nil {
		return err
	}
	return p.Live.check(p.Policies)
}

// loads returns those of the cells of each trace.
func (p *Plan) loads() []float64 {
	if len(p.Loads) > 0 {
		return p.Loads
	}
	return []float64{p.Base.Workload.Load}
}

// checkNames refuses cells of one name: the figures of one would replace those of the other,
// and no table could tell them apart.
func (p *Plan) checkNames() error {
	seen := map[string]Cell{}
	var all Comparison
	for _, trace := range p.Traces {
		for _, load := range p.loads() {
			c := Cell{Trace: trace, Asked: load}
			all.Cells = append(all.Cells, CellResult{Cell: c})
			name := c.file("")
			switch first, ok := seen[name]; {
			case !ok:
				seen[name] = c
			case first.Trace == trace && !(load > 0): // no load at all, which is refused with its bounds
			case first.Trace == trace:
				return fmt.Errorf("the loads %v and %v of %s are both called %q in tables and figures; nothing was run; give loads that differ in their first three digits", first.Asked, load, trace, c.Label())
			default:
				return fmt.Errorf("the traces %q and %q are both called %q in tables and figures; nothing was run; rename one of the files", first.Trace, trace, TraceName(trace))
			}
		}
	}
	return all.checkTitles()
}

// checkTitles refuses families of one name: x_50_7 and x_50_8 share a figure that is called as that
// of x_50 alone.
func (c *Comparison) checkTitles() error {
	seen := map[string]string{} // a trace of the family, by title
	for _, cells := range c.families() {
		title, trace := c.title(cells), c.Cells[cells[0]].Cell.Trace
		if first, ok := seen[title]; ok {
			return fmt.Errorf("the figures of percentiles with the traces %q and %q would both be called %q; nothing was run; rename one of the files", first, trace, title)
		}
		seen[title] = trace
	}
	return nil
}

// repeated returns a value that the list contains twice, or zero.
func repeated[T comparable](list []T) (none T) {
	for i, x := range list {
		if slices.Contains(list[:i], x) {
			return x
		}
	}
	return none
}

func (p *Plan) cell(trace string, load float64) (Cell, error) {
	d := p.Base
	d.Trace, d.Policies, d.Workload.Load = trace, p.Policies, load
	c := Cell{Trace: trace, Asked: load, desc: &d}
	runs, err := d.Runs()
	if err != nil {
		return c, err
	}
	for policy := range slices.Chunk(runs, d.Seeds) {
		c.runs = append(c.runs, policy)
	}
	w, err := runs[0].Workload()
	if err != nil {
		return c, err
	}
	if len(w.Jobs) == 0 {
		return c, errors.New(trace + " holds no job; nothing was run")
	}
	if c.digest, err = digest(trace); err != nil {
		return c, err
	}
	c.Jobs, c.Tasks, c.Load = len(w.Jobs), w.Tasks(), w.Load(d.Workers())
	return c, nil
}

// digest returns what a trace holds: the specification of a generator, the hash of a file.
func digest(trace string) (string, error) {
	if strings.HasPrefix(trace, "gen:") {
		return trace, nil
	}
	f, err := os.Open(trace)
	if err != nil {
		return "", fmt.Errorf("cannot open the trace: %w; nothing was run", err)
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("cannot read the trace %s: %w; nothing was run", trace, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// drawn reports whether each seed has another workload.
func (c *Cell) drawn() bool {
	o := &c.desc.Workload
	return o.Resample > 0 || o.WrongClass > 0 || o.Noise > 0 || o.Undeclared > 0 || o.Owners != nil || o.Wide != nil || o.Gangs != nil
}

// Label returns the requested load, else the load of the workload, for headings.
func (c *Cell) Label() string {
	if c.Asked > 0 {
		return "load " + strconv.FormatFloat(c.Asked, 'g', 3, 64)
	}
	return "load " + strconv.FormatFloat(c.Load, 'f', 2, 64)
}

// Title returns the trace and the load, for headings.
func (c *Cell) Title() string { return TraceName(c.Trace) + ", " + c.Label() }

// TraceName is the trace without folder and ending, for titles and files.
func TraceName(trace string) string {
	if strings.HasPrefix(trace, "gen:") {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(`:,=/\ `, r) {
				return '-'
			}
			return r
		}, trace)
	}
	base := filepath.Base(trace)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// file is the base name of a figure of the cell.
func (c *Cell) file(kind string) string {
	name := kind + "-" + TraceName(c.Trace)
	if c.Asked > 0 {
		name += "-" + strconv.FormatFloat(c.Asked, 'g', 3, 64)
	}
	return name
}
