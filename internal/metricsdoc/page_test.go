package metricsdoc

import (
	_ "embed"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

//go:embed page.md.tmpl
var pageTemplate string

// daemon is one role with the metrics that it can register.
type daemon struct {
	Title   string
	Metrics []telemetry.Description
}

func daemons() []daemon {
	return []daemon{
		{"Frontend", frontend.Metrics().Descriptions()},
		{"Master", master.Metrics().Descriptions()},
		{"Node monitor", nodemonitor.Metrics().Descriptions()},
	}
}

// inOrder returns the daemons as the page shows them: what several of them register alike comes first,
// once, with * for their names.
func inOrder(daemons []daemon) []daemon {
	times := map[string]int{}
	shared := func(d telemetry.Description) telemetry.Description {
		_, rest, _ := strings.Cut(strings.TrimPrefix(d.Name, "pigeon_"), "_")
		d.Name = "pigeon_*_" + rest
		return d
	}
	key := func(d telemetry.Description) string { return shared(d).Name + traits(d) + d.Help }
	for _, of := range daemons {
		for _, d := range of.Metrics {
			times[key(d)]++
		}
	}
	all, own := daemon{Title: "Several daemons"}, []daemon{}
	for _, of := range daemons {
		alone := daemon{Title: of.Title}
		for _, d := range of.Metrics {
			switch n := times[key(d)]; {
			case n == 1:
				alone.Metrics = append(alone.Metrics, d)
			case n > 1:
				all.Metrics = append(all.Metrics, shared(d))
				times[key(d)] = 0
			}
		}
		own = append(own, alone)
	}
	return append([]daemon{all}, own...)
}

// traits names the type of a metric, unless its name does, and its labels with their values.
func traits(d telemetry.Description) string {
	var all []string
	if d.Type != "counter" {
		all = append(all, d.Type)
	}
	for _, l := range d.Labels {
		all = append(all, l.Name+": "+strings.Join(l.Values, ", "))
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func TestPage(t *testing.T) {
	var page strings.Builder
	tmpl := template.Must(template.New("page").Funcs(template.FuncMap{"traits": traits}).Parse(pageTemplate))
	if err := tmpl.Execute(&page, map[string]any{"Daemons": inOrder(daemons())}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "metrics.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(have), page.String(); got != want {
		t.Errorf("docs/metrics.md is not what the daemons register; run 'make metrics'. First difference:\n%s", firstDifference(got, want))
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(have, want string) string {
	haves, wants := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range max(len(haves), len(wants)) {
		line := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "(the text ends)"
		}
		if line(haves) != line(wants) {
			return "have: " + line(haves) + "\nwant: " + line(wants)
		}
	}
	return ""
}

// TestNames: names and labels follow the conventions that the page states.
func TestNames(t *testing.T) {
	known := map[string]bool{}
	for _, daemon := range daemons() {
		for _, d := range daemon.Metrics {
			if known[d.Name] {
				t.Errorf("%s is registered twice", d.Name)
			}
			known[d.Name] = true
			if isCounter := d.Type == "counter"; isCounter != strings.HasSuffix(d.Name, "_total") {
				t.Errorf("%s is a %s: counters, and only they, end in _total", d.Name, d.Type)
			}
			for part := range strings.SplitSeq(d.Name, "_") {
				switch part {
				case "short", "long", "general", "reserved":
					t.Errorf("%s has %q in its name; class and kind are labels", d.Name, part)
				}
			}
			if !strings.HasSuffix(d.Help, ".") {
				t.Errorf("%s: the help %q is not a sentence", d.Name, d.Help)
			}
		}
	}
}
