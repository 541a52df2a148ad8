package metricsdoc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var monitoring = filepath.Join("..", "..", "deploy", "monitoring")

// expression is a query of a panel or an alert.
type expression struct{ at, text string }

// suffixes are what the series of a histogram add to its name.
var suffixes = []string{"_bucket", "_sum", "_count"}

var (
	metricName = regexp.MustCompile(`\bpigeon_[a-z_]+`)
	anchors    = regexp.MustCompile(`(?m)^## (\S+)$`)
)

// alert is a rule of alerts.yml.
type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (list []alert) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	if len(list) < 10 {
		t.Fatalf("%d alerts are read", len(list))
	}
	return list
}

func panels(t *testing.T) (list []expression) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(monitoring, "grafana", "dashboards", "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("dashboards %v, %v", files, err)
	}
	uids := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			UID, Title string
			Panels     []struct {
				Title, Description string
				Targets            []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.UID == "" || d.Title == "" || uids[d.UID] != "" {
			t.Errorf("%s: uid %q, title %q; another has this uid: %q", file, d.UID, d.Title, uids[d.UID])
		}
		uids[d.UID] = file
		for _, p := range d.Panels {
			if p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: the panel %q has no description or no query", file, p.Title)
			}
			for _, q := range p.Targets {
				list = append(list, expression{filepath.Base(file) + ": " + p.Title, q.Expr})
			}
		}
	}
	return list
}

// unknown returns the metrics in an expression that no daemon registers.
func unknown(text string, known map[string]bool) (names []string) {
	for _, name := range metricName.FindAllString(text, -1) {
		found := known[name]
		for _, s := range suffixes {
			base, histogram := strings.CutSuffix(name, s)
			found = found || histogram && known[base]
		}
		if !found {
			names = append(names, name)
		}
	}
	return names
}

// TestMonitoringNamesMetricsThatExist: every panel and every alert asks for metrics that a
// daemon registers.
func TestMonitoringNamesMetricsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, daemon := range daemons() {
		for _, d := range daemon.Metrics {
			known[d.Name] = true
		}
	}
	list := panels(t)
	for _, a := range alerts(t) {
		list = append(list, expression{"alerts.yml: " + a.Alert, a.Expr})
	}
	for _, e := range list {
		if e.text == "" {
			t.Errorf("%s asks nothing", e.at)
		}
		for _, name := range unknown(e.text, known) {
			t.Errorf("%s asks for %s, which no daemon registers", e.at, name)
		}
	}
	if got := unknown("rate(pigeon_master_nodes_bucket[1m]) + pigeon_master_nodes", map[string]bool{"pigeon_master_leads": true}); len(got) != 2 {
		t.Errorf("unknown metrics are not found: %v", got)
	}
}

// TestEveryAlertHasItsRunbook: a section of docs/alerts.md for each alert, with its severity,
// and no section without one.
func TestEveryAlertHasItsRunbook(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	at := anchors.FindAllSubmatchIndex(page, -1)
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		sections[string(page[m[2]:m[3]])] = strings.TrimSpace(string(page[m[1]:end]))
	}
	for _, a := range alerts(t) {
		text, found := sections[a.Alert]
		delete(sections, a.Alert)
		severity := a.Labels["severity"]
		switch {
		case !found:
			t.Errorf("docs/alerts.md has no section %q", a.Alert)
		case !strings.HasPrefix(text, severity+". ") || severity == "":
			t.Errorf("docs/alerts.md, %s: the section begins with %q and the alert's severity is %q", a.Alert, strings.SplitN(text, " ", 2)[0], severity)
		}
		if want := "docs/alerts.md#" + strings.ToLower(a.Alert); a.Annotations["runbook"] != want {
			t.Errorf("%s: its runbook is %q, want %q", a.Alert, a.Annotations["runbook"], want)
		}
		if a.Annotations["summary"] == "" {
			t.Errorf("%s has no summary", a.Alert)
		}
	}
	for name := range sections {
		t.Errorf("docs/alerts.md has a section %q, and there is no such alert", name)
	}
}

// TestPromtool: Prometheus's own checks, and the unit tests of the alerts.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool; Debian has it in the package prometheus")
	}
	for _, arguments := range [][]string{
		{"check", "config", "prometheus.yml"},
		{"check", "rules", "alerts.yml"},
		{"test", "rules", "alerts.test.yml"},
	} {
		c := exec.CommandContext(t.Context(), promtool, arguments...)
		c.Dir = monitoring
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}
