package launch_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/launch"
)

// printing returns commands that print one object, as pigeon's do; "-o json" goes to
// the shell as $0 and $1.
func printing(script string) map[string][]string {
	return map[string][]string{"printing": {"sh", "-c", script}}
}

var args = []string{"printing"}

func TestTable(t *testing.T) {
	measures := []launch.Measure{
		{Name: "deep", Args: args, Reach: "2 ms", Key: "a.b", Unit: "ms", Scale: 1e3},
		{Name: "flat", Args: args, Key: "c", Unit: "/s", Scale: 1},
	}
	rows, err := launch.Run(t.Context(), printing(`echo '{"a":{"b":0.0015},"c":20000}'`), measures, 3, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := launch.WriteTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Machine: ", "| deep | 2 ms | 1.5 ms | 1.5 - 1.5 | 3 |", "| flat |  | 20000 /s | 20000 - 20000 | 3 |"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
	for script, want := range map[string]string{
		`echo '{"a":{"c":1}}'`:                            "a.b",
		`echo '{"a":1}'`:                                  "a.b",
		`echo nothing; echo why >&2`:                      "why",
		`echo '{"a":{"b":1},"c":1}'; echo no >&2; exit 3`: "no",
	} {
		if _, err := launch.Run(t.Context(), printing(script), measures, 1, func(string) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// TestReadyIsEnough: a command that serves is asked to stop after its object.
func TestReadyIsEnough(t *testing.T) {
	m := []launch.Measure{{Name: "start", Args: args, Key: "took", Scale: 1, UntilReady: true}}
	rows, err := launch.Run(t.Context(), printing(`trap 'exit 0' TERM; echo '{"took":0.25}'; while :; do sleep 0.05; done`), m, 1, func(string) {})
	if err != nil || rows[0].Values[0] != 0.25 {
		t.Errorf("%+v %v", rows, err)
	}
}

// TestMeasuresOfOneCommandStandTogether, or Run would run it again.
func TestMeasuresOfOneCommandStandTogether(t *testing.T) {
	seen, last := map[string]bool{}, ""
	for _, m := range launch.Measures() {
		command := strings.Join(m.Args, " ")
		if command != last && seen[command] {
			t.Errorf("%q runs twice", command)
		}
		seen[command], last = true, command
		if m.Name == "" || m.Key == "" || m.Unit == "" || m.Scale == 0 {
			t.Errorf("incomplete: %+v", m)
		}
	}
}
