package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestHistoryVerb: jobs of several frontends are summed up, listed and exported.
func TestHistoryVerb(t *testing.T) {
	b, _ := runDev(t, "--policy", "pigeon", // where a declared class stays
		"--nodes", "1", "--groups", "1", "--frontends", "2", "--slots", "2")
	defer b.stop()
	if code, out, errs := program(t, "history"); code != cli.ExitDone || out != "" || !strings.Contains(errs, "no such job has ended") {
		t.Errorf("before the first job: %d, %q, %s", code, out, errs)
	}
	for i := range 6 { // their keys lead to both frontends
		succeed(t, "submit", "--key", "short-"+strconv.Itoa(i), "--owner", "team/ann", "--name", "nightly", "--class", "short", "--tasks", "2", "--sleep", "20ms", "--wait")
	}
	succeed(t, "submit", "--owner", "bob", "--class", "long", "--sleep", "10ms", "--wait")
	if code, _, errs := program(t, "submit", "--owner", "bob", "--class", "long", "--wait", "--", "sh", "-c", "exit 3"); code != cli.ExitFailed {
		t.Fatalf("%d %s", code, errs)
	}
	t.Run("sums", testHistorySums)
	t.Run("list", testHistoryList)
	t.Run("export", testHistoryExport)
	t.Run("mistakes", testHistoryMistakes)
	t.Run("page", testHistoryPage)
}

func testHistorySums(t *testing.T) {
	got := lines[show.UsageLine](t, succeed(t, "history", "-o", "json"))
	slices.SortFunc(got, func(a, b show.UsageLine) int { return strings.Compare(*a.Owner, *b.Owner) })
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	bob, ann := got[0], got[1]
	if *ann.Owner != "team/ann" || ann.Class != "short" || ann.Jobs != 6 || ann.Completed != 6 || ann.Tasks != 12 || ann.SlotSeconds < 0.24 || ann.WaitMean == nil || *ann.WaitP50 > *ann.WaitP99 || *ann.WaitP99 > ann.LongestWait {
		t.Errorf("%+v", ann)
	}
	if *bob.Owner != "bob" || bob.Class != "long" || bob.Jobs != 2 || bob.Failed != 1 || bob.FailedTasks != 1 || math.Abs(bob.Share+ann.Share-1) > 1e-9 {
		t.Errorf("%+v", bob)
	}
	text := succeed(t, "history")
	for _, want := range []string{"OWNER", "SLOT-SECONDS", "team/ann  short  6", "all"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for flags, jobs := range map[string]int64{
		"--owner team": 6, "--owner tea": 0, "--class long": 2, "--state failed": 1, "--name nightly": 6, "--since 1h": 8, "--until 1h": 0, "--since " + time.Now().Add(-time.Hour).Format(time.RFC3339): 8,
		"--until 2001-02-03": 0, "--since 7d --by day": 8,
	} {
		var sum int64
		for _, l := range lines[show.UsageLine](t, succeed(t, append([]string{"history", "-o", "json"}, strings.Fields(flags)...)...)) {
			sum += l.Jobs
		}
		if sum != jobs {
			t.Errorf("%s: %d jobs, want %d", flags, sum, jobs)
		}
	}
}

func testHistoryList(t *testing.T) {
	list := lines[api.JobUsage](t, succeed(t, "history", "--jobs", "-o", "json"))
	if len(list) != 8 || !slices.IsSortedFunc(list, func(a, b api.JobUsage) int { return int(math.Copysign(1, b.Ended-a.Ended)) }) {
		t.Errorf("%+v", list)
	}
	if got := lines[api.JobUsage](t, succeed(t, "history", "--jobs", "--limit", "3", "-o", "json")); !slices.Equal(got, list[:3]) {
		t.Errorf("%+v", got)
	}
	if text := succeed(t, "history", "--job", "short-3"); !strings.Contains(text, "short-3") || strings.Contains(text, "short-2") {
		t.Errorf("%s", text)
	}
}

func testHistoryExport(t *testing.T) {
	folder := t.TempDir()
	table, file := filepath.Join(folder, "jobs.csv"), filepath.Join(folder, "jobs.jsonl")
	succeed(t, "history", "--export", table)
	succeed(t, "history", "--export", file)
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 9 || rows[0][0] != "job" {
		t.Fatalf("%q, %v", rows, err)
	}
	text, err = os.ReadFile(file)
	jobs := lines[api.JobUsage](t, string(text))
	if err != nil || len(jobs) != 8 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for _, j := range jobs {
		at := slices.IndexFunc(rows, func(r []string) bool { return r[0] == j.Job })
		if at < 0 || rows[at][slices.Index(rows[0], "slot_seconds")] != strconv.FormatFloat(j.SlotSeconds, 'f', -1, 64) || !j.Started {
			t.Errorf("%+v in %q", j, rows)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
	if code, _, errs := program(t, "history", "--export", filepath.Join(folder, "no", "jobs.csv")); code != cli.ExitFailed || !strings.Contains(errs, "name another file") {
		t.Errorf("%d %s", code, errs)
	}
}

func testHistoryMistakes(t *testing.T) {
	for flags, want := range map[string]string{
		"--by weather":                         "owner, class, day, name, state",
		"--by owner,day,owner":                 "names owner twice",
		"--since yesterday":                    "2026-01-31",
		"--since -5m":                          "2026-01-31",
		"--since 1h --until 2h":                "not before",
		"--state running":                      "completed, failed or cancelled",
		"--class medium":                       "short and long",
		"--export jobs.parquet":                ".jsonl",
		"--export jobs.txt":                    ".jsonl",
		"--export jobs.csv --by owner":         "leave one out",
		"--jobs --by owner":                    "leave one out",
		"--jobs --limit 0":                     "1 or more",
		"--limit 5":                            "--jobs lists",
		"--export jobs.csv --limit 5":          "--jobs lists",
		"--jobs --export jobs.csv --limit 5":   "--jobs lists",
		"--owner team/":                        "team/",
		"job":                                  "job",
		"--since 99999999999999999999h --jobs": "2026-01-31",
		"--until 2026-13-01":                   "2026-01-31",
	} {
		if code, _, errs := program(t, append([]string{"history"}, strings.Fields(flags)...)...); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d: %s", flags, code, errs)
		}
	}
}

// testHistoryPage runs the commands of docs/history.md.
func testHistoryPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	_, commands, _ := strings.Cut(string(page), "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	n := 0
	for line := range strings.Lines(commands) {
		n++
		words := strings.Fields(line)
		if words[0] != "pigeon" {
			t.Fatalf("%q", line)
		}
		succeed(t, words[1:]...)
	}
	if n < 8 {
		t.Errorf("%d commands", n)
	}
	if info, err := os.Stat("jobs.jsonl"); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// Two exports to one file at the same time leave one of them, whole.
func TestExportsToOneFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.csv")
	var f *fakeFrontend
	var other sync.Once
	f = startFake(t, &fakeFrontend{history: func(q *api.HistoryQuery) api.HistoryPage {
		if q.Owner == "first" && q.AfterJob != "" { // between its pages
			other.Do(func() {
				if code, _, errs := program(t, "history", "--export", file, "--owner", "second", "--frontend", f.address); code != cli.ExitDone {
					t.Errorf("status %d: %s", code, errs)
				}
			})
		}
		p := api.HistoryPage{Frontend: "f", More: q.AfterJob == ""}
		for i := range 100 {
			p.Jobs = append(p.Jobs, api.JobUsage{Job: fmt.Sprint("job-", i, q.AfterJob), Owner: q.Owner, State: api.StateCompleted, Ended: 1})
		}
		return p
	}})
	if code, _, errs := program(t, "history", "--export", file, "--owner", "first", "--frontend", f.address); code != cli.ExitDone {
		t.Errorf("status %d: %s", code, errs)
	}
	text, err := os.ReadFile(file)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 201 || strings.Count(string(text), ",first,") != 200 {
		t.Errorf("%d lines, %d of them of the export that ended last; %v", lines, strings.Count(string(text), ",first,"), err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
