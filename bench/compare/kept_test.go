package compare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// keepIn returns a store of runs, with a file in place of the program, that keeps no other one out.
func keepIn(t *testing.T, dir, program string) *Kept {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pigeon")
	k, err := KeepIn(dir, path)
	if err == nil {
		t.Errorf("a program that is not there keeps runs in %v", k)
	}
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err = KeepIn(dir, path); err != nil {
		t.Fatal(err)
	}
	if other, err := KeepIn(dir, path); err == nil || !strings.Contains(err.Error(), "another comparison runs in "+dir) {
		t.Errorf("two comparisons at once keep runs in %v: %v", other, err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return k
}

// timeless is a comparison without what each run of the same steps has another value of.
func timeless(c *Comparison) *Comparison {
	for i := range c.Cells {
		for k := range c.Cells[i].Policies {
			p := &c.Cells[i].Policies[k]
			for n := range p.Results {
				p.Results[n].Wall = 0
			}
			p.timeline.since = [quantities]int64{} // of a timeline that is still filled
		}
		for _, t := range c.Cells[i].references.timelines {
			t.since = [quantities]int64{}
		}
	}
	return c
}

func rerun(t *testing.T, p *Plan, k *Kept) (*Comparison, Progress) {
	t.Helper()
	ready, err := p.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var last Progress
	c, err := ready.Run(t.Context(), k, func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	return c, last
}

// A comparison that was interrupted continues from the runs that had ended, and is then the
// same as one that was not interrupted, its figures too.
func TestGoesOn(t *testing.T) {
	dir := t.TempDir()
	ready, err := small().Prepare()
	if err != nil {
		t.Fatal(err)
	}
	const before = 5
	ctx, stop := context.WithCancel(t.Context())
	_, err = ready.Run(ctx, keepIn(t, dir, "v1"), func(p Progress) {
		if p.Done == before {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the first comparison ended with %v", err)
	}
	k := keepIn(t, dir, "v1")
	c, last := rerun(t, small(), k)
	if last.Kept < before || last.Done != last.All {
		t.Errorf("the second comparison: %+v", last)
	}
	whole := compared(t, small())
	if got, want := timeless(c).Cells, timeless(whole).Cells; len(got) != len(want) {
		t.Errorf("%d cells, want %d", len(got), len(want))
	} else {
		for i := range got {
			for n := range got[i].Policies {
				if !reflect.DeepEqual(got[i].Policies[n], want[i].Policies[n]) {
					t.Errorf("%s on cell %d differs", got[i].Policies[n].Policy, i)
				}
			}
			if !reflect.DeepEqual(got[i].references, want[i].references) {
				t.Errorf("the references of cell %d differ", i)
			}
		}
	}

	// Runs of another program, and damaged ones, are made again; those of other comparisons go.
	files, err := filepath.Glob(filepath.Join(dir, KeptFolder, "*.json"))
	if err != nil || len(files) != last.All {
		t.Fatalf("%d runs are kept of %d, %v", len(files), last.All, err)
	}
	for i, damaged := range []string{"{", "{}", "null"} {
		if err := os.WriteFile(files[i], []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, again := rerun(t, small(), keepIn(t, dir, "v1")); again.Kept != last.All-1 {
			t.Errorf("with a run that is %s: %+v", damaged, again)
		}
	}
	fewer, k := small(), keepIn(t, dir, "v1")
	fewer.Policies = fewer.Policies[:1]
	if _, again := rerun(t, fewer, k); again.Kept != again.All {
		t.Errorf("with one policy less: %+v", again)
	}
	other := keepIn(t, dir, "v2")
	if _, again := rerun(t, fewer, other); again.Kept != 0 {
		t.Errorf("with another program: %+v", again)
	}
	if err := other.RemoveOthers(); err != nil {
		t.Error(err)
	}
	if files, err = filepath.Glob(filepath.Join(dir, KeptFolder, "*")); err != nil || len(files) != len(other.used) {
		t.Errorf("%d runs are left, want %d; %v", len(files), len(other.used), err)
	}
}

// A trace that was changed in place has other runs.
func TestKeptByContent(t *testing.T) {
	dir, trace := t.TempDir(), filepath.Join(t.TempDir(), "a.tr")
	p := small()
	p.Traces, p.Loads, p.Policies, p.Base.Seeds = []string{trace}, nil, p.Policies[:1], 1
	for i, text := range []string{"0 1 2.0 2.0\n1 1 2.0 2.0\n", "0 1 2.0 2.0\n1 1 3.0 3.0\n"} {
		if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, last := rerun(t, p, keepIn(t, dir, "v1"))
		if want := measure.Number([]float64{2, 2.5}[i]); last.Kept != 0 || c.Cells[0].Longest[0].Long.Mean != want {
			t.Errorf("%d: %+v, %v", i, last, c.Cells[0].Longest[0].Long.Mean)
		}
	}
}
