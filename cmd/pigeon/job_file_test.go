package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/request"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// write writes a file into a new folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The schema is one, names every key, and nothing else.
func TestJobSchema(t *testing.T) {
	code, out, errs := program(t, "submit", "--schema")
	var s struct {
		Properties map[string]struct {
			Type        any
			Description string
		}
		AdditionalProperties bool
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != cli.ExitDone || errs != "" {
		t.Fatalf("%d, %v, %s", code, err, errs)
	}
	if len(s.Properties) != len(request.FileKeys) || s.AdditionalProperties {
		t.Errorf("%d keys of %d, others %v", len(s.Properties), len(request.FileKeys), s.AdditionalProperties)
	}
	for i := range request.FileKeys {
		if p := s.Properties[request.FileKeys[i].Name]; p.Type == nil || p.Description == "" {
			t.Errorf("%s is %+v", request.FileKeys[i].Name, p)
		}
	}
	for key, want := range map[string]string{"retries": "integer", "cpus": "number", "restartable": "boolean", "memory": "string", "command": "array", "env": "object"} {
		if got := s.Properties[key].Type; got != want {
			t.Errorf("%s is %v", key, got)
		}
	}
}

// The job file, the script and the chain of docs/jobs.md run as they are shown there.
func TestJobFilesOnACluster(t *testing.T) {
	runDev(t, "--groups", "1", "--nodes", "1", "--slots", "2")
	script := write(t, "render.sh", "#!/bin/sh\n#PIGEON --array 10-20:5 --name render\necho \"frame $PIGEON_ARRAY_INDEX of $1\"\n")
	first := succeed(t, "submit", "--wait", script, "forest")
	if got := succeed(t, "logs", first, "--task", "2"); got != "frame 20 of forest" {
		t.Errorf("%q", got)
	}
	file := write(t, "job.yaml", fmt.Sprintf("name: report\nscript: |\n  #!/bin/sh\n  echo $WHO $1\narguments: [done]\nenv: {WHO: me}\nafter: [%s, \"%[1]s-not:any\"]\n", first))
	if code, _, errs := program(t, "submit", "--file", file); code != cli.ExitFailed || !strings.Contains(errs, first+"-not") {
		t.Errorf("after a job that does not exist: %d %s", code, errs)
	}
	gate := filepath.Join(t.TempDir(), "gate")
	slow := succeed(t, "submit", "--", "sh", "-c", "while ! [ -e "+gate+" ]; do sleep 0.01; done")
	held := succeed(t, "submit", "--after", first, "--after", slow, "--", "sh", "-c", "echo then")
	if got := succeed(t, "explain", held); !strings.Contains(got, "It is held until job "+slow+" has completed.") {
		t.Errorf("%s", got)
	}
	if got := succeed(t, "status", held); !strings.Contains(got, "held") {
		t.Errorf("%s", got)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := succeed(t, "submit", "--wait", "--after", held, "--", "true")
	if got := succeed(t, "logs", held); got != "then" {
		t.Errorf("%q", got)
	}
	failed := succeed(t, "submit", "--", "false")
	if code, _, errs := program(t, "submit", "--wait", "--after", failed, "--", "true"); code != cli.ExitFailed || !strings.Contains(errs, "job "+failed+", after which it was to start, failed") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := program(t, "submit", "--after", last, "--after", "nothing", "--", "true"); code != cli.ExitFailed || !strings.Contains(errs, `job "nothing"`) {
		t.Errorf("%d %s", code, errs)
	}
}
