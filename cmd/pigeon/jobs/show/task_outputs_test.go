package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestTaskFileNames(t *testing.T) {
	array := api.Array{First: 10, Step: 10}
	for pattern, want := range map[TaskFiles]string{"%j/%a_%n": "a_b/30_2", "100%%_%n": "100%_2", "plain.txt": "plain.txt", "%%a%a": "%a30"} {
		if got := pattern.of("a/b", array, 2); got != want {
			t.Errorf("%s is %s, want %s", pattern, got, want)
		}
	}
	if got := TaskFiles("%a").of("j", api.Array{}, 2); got != "2" {
		t.Errorf("without an array %%a is %s", got)
	}
}

// Lines keep together, however they arrive, and one without an end is written, too.
func TestPrefixedLines(t *testing.T) {
	var out bytes.Buffer
	write, flush := prefixed(&out)
	a, b := &client.Output{Task: 1}, &client.Output{Task: 2}
	for _, p := range []struct {
		of   *client.Output
		text string
	}{{a, "one\ntw"}, {b, "other\n"}, {a, "o\n\nthree"}, {b, strings.Repeat("x", mostHeld+1)}} {
		if err := write(p.of, []byte(p.text)); err != nil {
			t.Fatal(err)
		}
	}
	if flush(a) != nil || flush(b) != nil || out.String() != "1: one\n2: other\n1: two\n1: \n2: "+strings.Repeat("x", mostHeld+1)+"\n1: three\n" {
		t.Errorf("%.200q", out.String())
	}
}
