package show

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// The table of jobs fits any width: first columns that matter less go, and names are cut; ids and
// states stay whole as long as there is room for them.
func TestStatusTableFits(t *testing.T) {
	now := time.Unix(100_000, 0)
	list := []api.Status{
		{Job: "01M832RR45W1ABQPW75C0HRZVM", Name: "a-name-of-a-job-that-is-rather-long", Command: "sh -c 'render --all --frames 1-1000 --quality high'", Owner: "team/alice", Class: "long", State: api.StateRunning, Tasks: 1000, Completed: 7, Failed: 1, Running: 12, Submitted: 100_000 - 90},
		{Job: "nightly", Name: "evil\x1b[2Jname", Owner: "bob", Class: "short", State: api.StateFailed, Tasks: 1, Failed: 1, Submitted: 10, Seconds: 1.5},
	}
	for _, width := range []int{0, 200, 120, 80, 60, 45, 10, 1} {
		var out strings.Builder
		if err := printStatusTable(&out, list, cli.Terminal{Width: width}, now); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Contains(text, "\x1b") {
			t.Errorf("%d wide: what a terminal obeys is printed:\n%q", width, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 0 && n > width {
				t.Errorf("%d wide: a line has %d characters: %q", width, n, line)
			}
		}
		whole := func(part string, from int) {
			if (width == 0 || width >= from) != strings.Contains(text, part) {
				t.Errorf("%d wide: %q should be there from a width of %d:\n%s", width, part, from, text)
			}
		}
		whole("01M832RR45W1ABQPW75C0HRZVM", 45)
		whole("8/1000", 45)
		whole("SUBMITTED", 134)
	}
	var out strings.Builder
	if err := printStatusTable(&out, list, cli.Terminal{Width: 80, Height: 24, Colours: true}, now); err != nil || !strings.Contains(out.String(), "\x1b[31mfailed\x1b[0m") {
		t.Errorf("%v: %q", err, out.String())
	}
}

// The id of one job that is longer than the terminal is wide does not hide where the others stand.
func TestStatusTableWithALongID(t *testing.T) {
	list := []api.Status{
		{Job: strings.Repeat("k", 200), Owner: "bob", Class: "short", State: api.StateFailed, Tasks: 1, Failed: 1, Seconds: 1.5},
		{Job: "01M832RR45W1ABQPW75C0HRZVM", Owner: "team/alice", Class: "long", State: api.StateRunning, Tasks: 1000, Completed: 7, Running: 12},
	}
	var out strings.Builder
	if err := printStatusTable(&out, list, cli.Terminal{Width: 80}, time.Unix(100, 0)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kkkkkk…  failed ", "01M832RR45W1ABQPW75C0HRZVM ", " running ", " 7/1000 "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not shown:\n%s", part, out.String())
		}
	}
}

func TestAges(t *testing.T) {
	now := time.Unix(10_000_000, 0)
	for ago, want := range map[time.Duration]string{-time.Minute: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 47 * time.Hour: "47h", 72 * time.Hour: "3d"} {
		if got := ageOf(float64(now.Add(-ago).Unix()), now); got != want {
			t.Errorf("%v: %s, want %s", ago, got, want)
		}
	}
}

// A screen shows the newest jobs and counts the others, so that nothing scrolls out of it; elsewhere all are printed.
func TestStatusTableFitsTheHeight(t *testing.T) {
	list := make([]api.Status, 20)
	for i := range list {
		list[i] = api.Status{Job: fmt.Sprint("job-", i), State: api.StateRunning, Tasks: 1}
	}
	for height, want := range map[int]string{0: "job-19", 24: "job-19", 23: "and 1 more job\n", 8: "and 16 more jobs\n", 1: "and 19 more jobs\n"} {
		var out strings.Builder
		if err := printStatusTable(&out, list, cli.Terminal{Width: 100, Height: height}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(out.String(), "\n")
		if text := out.String(); !strings.Contains(text, "job-0 ") || !strings.Contains(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:], want) || height > 3 && lines > height-2 {
			t.Errorf("%d lines of a screen of %d, want the newest job, and at the end %q:\n%s", lines, height, want, text)
		}
	}
}
