package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
)

// prometheusServer is a real Prometheus on a free port.
type prometheusServer struct {
	t       *testing.T
	address string
	log     string // path
}

// startPrometheus starts one with the configuration of deploy/monitoring, which scrapes target.
// Another process may take the port between its choice and its use, then another one is tried.
func startPrometheus(t *testing.T, program, target string) *prometheusServer {
	t.Helper()
	folder := t.TempDir()
	monitoring, err := filepath.Abs(filepath.Join("..", "..", "deploy", "monitoring"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(monitoring, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for old, replacement := range map[string]string{
		"127.0.0.1:20510\"]":     target + "\"]",
		"[alerts.yml]":           "[" + filepath.Join(monitoring, "alerts.yml") + "]",
		"scrape_interval: 5s":    "scrape_interval: 1s",
		"evaluation_interval: 5": "evaluation_interval: 1",
	} {
		if strings.Count(config, old) != 1 {
			t.Fatalf("%q is not once in prometheus.yml", old)
		}
		config = strings.Replace(config, old, replacement, 1)
	}
	file := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	const tries = 5
	for try := range tries {
		p := &prometheusServer{t: t, address: ports.Address(t), log: filepath.Join(folder, fmt.Sprintf("log-%d", try))}
		if p.start(program, file, filepath.Join(folder, fmt.Sprintf("data-%d", try))) {
			return p
		}
	}
	t.Fatalf("no Prometheus serves after %d tries", tries)
	return nil
}

// start reports whether the server is ready; it is not when it ended before.
func (p *prometheusServer) start(program, config, data string) bool {
	log, err := os.Create(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+p.address, //nolint:noctx // it ends with the test's cleanup
		"--enable-feature=exemplar-storage", "--log.level=warn")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // it is killed
		close(ended)
	}()
	p.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
		_ = log.Close() // only its end of a file
	})
	serves := false
	await.Until(p.t, "Prometheus is ready, or has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
			_, serves = p.get("/-/ready", nil)
			return serves
		}
	}, p.logged)
	return serves
}

func (p *prometheusServer) logged() string {
	text, err := os.ReadFile(p.log)
	return fmt.Sprintf("its log: %s %v", text, err)
}

// get returns what the API answers, and false when it does not.
func (p *prometheusServer) get(path string, query url.Values) (string, bool) {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.address+path+"?"+query.Encode(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error(), false
	}
	defer func() { _ = answer.Body.Close() }() // only read
	var body bytes.Buffer
	_, err = io.Copy(&body, answer.Body)
	return body.String(), err == nil && answer.StatusCode == http.StatusOK
}

// ask decodes the data of an answer of the API into v, and reports whether there was one.
func (p *prometheusServer) ask(path string, query url.Values, v any) bool {
	p.t.Helper()
	text, ok := p.get(path, query)
	if !ok {
		return false
	}
	var answer struct {
		Status string
		Data   json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		p.t.Fatalf("%s: %s %v", path, text, err)
	}
	if err := json.Unmarshal(answer.Data, v); err != nil {
		p.t.Fatalf("%s: %s %v", path, text, err)
	}
	return true
}

// panelQueries returns the queries of all dashboards, as Grafana sends them.
func panelQueries(t *testing.T) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "deploy", "monitoring", "grafana", "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	filled := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")
	for _, file := range files {
		var d struct {
			Panels []struct{ Targets []struct{ Expr string } }
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				list = append(list, filled.Replace(q.Expr))
			}
		}
	}
	return list
}

// onlyWithReplication are metrics that exist only where journals are replicated.
var onlyWithReplication = []string{"pigeon_frontend_journal_stream_bytes", "pigeon_frontend_leads"}

// TestPrometheus: a real Prometheus with the configuration and the alerts of deploy/monitoring
// scrapes 'pigeon dev', evaluates every rule, answers the query of every panel, has every metric
// that they name, and exemplars that lead to traces.
func TestPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no prometheus; Debian has it in the package prometheus")
	}
	// No process listens there: jobs are traced, and the exports fail.
	dev, line := runDev(t, "--otlp", ports.Address(t), "--owners-file", ownersFile(t))
	succeed(t, "submit", "--tasks", "20", "--sleep", "10ms", "--owner", "team/alice", "--wait")
	succeed(t, "submit", "--tasks", "5", "--sleep", "10ms", "--class", "long", "--wait")
	succeed(t, "submit", "--tasks", "40", "--sleep", "1h", "--owner", "team/bob") // some run and some wait, until the end

	page, err := url.Parse(line.Metrics)
	if err != nil || page.Path != "/metrics" {
		t.Fatalf("%q %v", line.Metrics, err)
	}
	p := startPrometheus(t, program, page.Host)
	p.awaitTarget()
	p.awaitRules()

	t.Run("nodes are counted", func(t *testing.T) {
		var v vector
		await.Until(t, "four nodes", func() bool {
			return p.ask("/api/v1/query", url.Values{"query": {"sum(pigeon_master_nodes)"}}, &v) && len(v.Result) == 1 && v.Result[0].Value[1] == "4"
		}, p.logged)
		if p.ask("/api/v1/query", url.Values{"query": {`pigeon_frontend_unfinished_jobs`}}, &v); len(v.Result) != 1 || v.Result[0].Metric["instance"] != "frontend-0" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("panels", p.panels)
	t.Run("exemplars", p.exemplars)

	if code, errs := dev.stop(); code != cli.ExitDone {
		t.Errorf("dev, whose traces no process received: status %d: %s", code, errs)
	}
}

func ownersFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "owners.yaml")
	if err := os.WriteFile(file, []byte("shares: [{owner: team, weight: 2}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// vector is the answer to a query.
type vector struct {
	Result []struct {
		Metric map[string]string
		Value  [2]any
	}
}

func (p *prometheusServer) awaitTarget() {
	p.t.Helper()
	var targets struct {
		ActiveTargets []struct{ Health, LastError string }
	}
	await.Until(p.t, "the target is up", func() bool {
		return p.ask("/api/v1/targets", nil, &targets) && len(targets.ActiveTargets) == 1 && targets.ActiveTargets[0].Health == "up"
	}, func() string { return fmt.Sprintf("%+v", targets) }, p.logged)
}

func (p *prometheusServer) awaitRules() {
	p.t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	await.Until(p.t, "all rules are healthy", func() bool {
		n := 0
		if !p.ask("/api/v1/rules", nil, &rules) {
			return false
		}
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if n++; r.Health != "ok" {
					return false
				}
			}
		}
		return n >= 20
	}, func() string { return fmt.Sprintf("%+v", rules) }, p.logged)
}

// panels asks the query of every panel, when Prometheus has every metric that one names.
func (p *prometheusServer) panels(t *testing.T) {
	name := regexp.MustCompile(`\b(pigeon|process)_[a-z_]+`)
	queries := panelQueries(t)
	var missing []string
	await.Until(t, "every metric of a panel is scraped", func() bool {
		var known []string
		if !p.ask("/api/v1/label/__name__/values", nil, &known) {
			return false
		}
		missing = slices.DeleteFunc(name.FindAllString(strings.Join(queries, " "), -1), func(metric string) bool {
			return slices.Contains(known, metric) || slices.Contains(onlyWithReplication, metric)
		})
		return len(missing) == 0
	}, func() string { return fmt.Sprint("missing: ", missing) })
	for _, q := range queries {
		if text, ok := p.get("/api/v1/query", url.Values{"query": {q}}); !ok || strings.Contains(text, `"warnings"`) {
			t.Errorf("%s: %s", q, text)
		}
	}
}

// exemplars finds traces in the histograms of all three daemons.
func (p *prometheusServer) exemplars(t *testing.T) {
	id := regexp.MustCompile(`^[0-9a-f]{32}$`)
	for _, histogram := range []string{"pigeon_frontend_completion_seconds", "pigeon_frontend_queueing_seconds", "pigeon_master_queued_seconds", "pigeon_nodemonitor_run_seconds"} {
		var series []struct {
			Exemplars []struct{ Labels map[string]string }
		}
		await.Until(t, "exemplars of "+histogram, func() bool {
			now := time.Now()
			return p.ask("/api/v1/query_exemplars", url.Values{
				"query": {histogram + "_bucket"}, "start": {fmt.Sprint(now.Add(-time.Hour).Unix())}, "end": {fmt.Sprint(now.Add(time.Hour).Unix())},
			}, &series) && len(series) > 0
		}, p.logged)
		if labels := series[0].Exemplars[0].Labels; !id.MatchString(labels["trace_id"]) {
			t.Errorf("%s: %v", histogram, labels)
		}
	}
}
