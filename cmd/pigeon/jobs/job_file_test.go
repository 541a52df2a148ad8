package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/request"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// asked returns what a command line of submit asks a frontend for; nothing is sent.
func asked(t *testing.T, stdin string, args ...string) (r *api.Request, stderr string, err error) {
	t.Helper()
	cmd := &cobra.Command{Use: "submit", SilenceErrors: true, SilenceUsage: true}
	cmd.SetFlagErrorFunc(cli.ExplainFlag)
	job, own := request.AddFlags(cmd), submitFlags{}
	own.add(cmd.Flags())
	connect.AddFlags(cmd)
	var errs bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetErr(&errs)
	cmd.RunE = func(cmd *cobra.Command, argv []string) (err error) {
		r, err = own.request(cmd, job, argv)
		return err
	}
	err = cmd.Execute()
	return r, errs.String(), err
}

// everyKey is a job file with every key but script, arguments, sleep, tasks, and stage, which dir excludes.
const everyKey = `# a comment
name: nightly
owner: team/alice
priority: -3
class: long
estimate: 20s
command: [render, "--quality", 9]
array: 0-90:10
env:
  SCENE: forest
  SEED: 7
  EMPTY: ""
env_file: [%s]
dir: /tmp
memory: 2G
cpus: 1.5
time_limit: 1:30:00
retries: 2
restartable: true
no_suspend: true
max_disconnect: 1m
max_running: 4
after: [one, "two:any"]
key: nightly-7
`

func TestJobFileHasEveryKey(t *testing.T) {
	path := write(t, "job.yaml", fmt.Sprintf(everyKey, write(t, "env", "FROM=file\nSEED=1\n")))
	r, _, err := asked(t, "", "--file", path)
	if err != nil {
		t.Fatal(err)
	}
	e := r.Tasks[0].Payload.Exec
	got := fmt.Sprintln(r.Name, r.Owner, r.Priority, r.Class, r.Estimate, len(r.Tasks), r.Array, r.Limits, r.Retries, r.Restartable, r.NoSuspend, r.MaxDisconnect, r.MaxRunning, r.After, r.Key, e.Argv, e.Dir, strings.Join(e.Env, " "))
	const want = "nightly team/alice -3 long 20s 10 {0 10  false} memory 2G, cpus 1.5, time limit 1h30m0s 2 true true 1m0s 4 [one:ok two:any] nightly-7 [render --quality 9] /tmp SCENE=forest EMPTY= FROM=file SEED=1\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	for i := range request.FileKeys {
		if k := request.FileKeys[i].Name; !strings.Contains(everyKey, "\n"+k+":") && !slices.Contains([]string{"script", "arguments", "tasks", "sleep", "stage"}, k) {
			t.Errorf("the test has no key %s", k)
		}
	}
}

// Every flag of submit is a key of a job file, but those about the command itself.
func TestJobFileAndFlagsAgree(t *testing.T) {
	cmd := SubmitCommand()
	client := pflag.NewFlagSet("", pflag.ContinueOnError)
	clients := &cobra.Command{}
	connect.AddFlags(clients)
	client.AddFlagSet(clients.Flags())
	own := map[string]bool{"failed-of": true, "file": true, "collect": true, "schema": true, "wait": true, "output": true, "progress": true, "quiet": true}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		inFile := slices.ContainsFunc(request.FileKeys, func(k request.FileKey) bool { return k.Name == strings.ReplaceAll(f.Name, "-", "_") })
		if !inFile && !own[f.Name] && client.Lookup(f.Name) == nil {
			t.Errorf("flag --%s is no key of a job file", f.Name)
		}
	})
	for i := range request.FileKeys {
		if name := request.FileKeys[i].Flag(); name != "" && cmd.Flags().Lookup(name) == nil {
			t.Errorf("key %s has no flag", request.FileKeys[i].Name)
		}
	}
}

// The command line counts before a script's lines, and these before a job file.
func TestWhatCountsFirst(t *testing.T) {
	script := write(t, "job.sh", "#!/bin/bash -l\n# of mine\n#PIGEON --name script --retries 2 --env 'A=of the script'\n\n#PIGEONS are no flags\necho hi\n#PIGEON --retries 9\n")
	file := write(t, "job.yaml", "name: file\nretries: 1\npriority: 4\ntasks: 3\ncommand: [no, matter]\nenv: {A: file, B: file}\n")
	r, errs, err := asked(t, "", "--file", file, "--retries", "3", "--env", "C=flag", script, "x", "--y")
	if err != nil {
		t.Fatal(err)
	}
	e := r.Tasks[0].Payload.Exec
	got := fmt.Sprint(r.Name, r.Retries, r.Priority, len(r.Tasks), e.Argv, e.Env)
	if want := "script3 4 3 [job.sh x --y] [B=file A=of the script C=flag]"; got != want || !strings.HasPrefix(string(e.Script), "#!/bin/bash -l\n") {
		t.Errorf("got %s want %s", got, want)
	}
	if !strings.Contains(errs, "line 7: flags after the first command are ignored") {
		t.Errorf("said %q", errs)
	}
	if r, _, err = asked(t, "", "--file", file, "--array", "1-2", "--", "program"); err != nil || len(r.Tasks) != 2 || r.Tasks[0].Payload.Exec.Argv[0] != "program" {
		t.Errorf("an array in place of the file's tasks: %+v, %v", r, err)
	}
	if r, _, err = asked(t, "", "--file", write(t, "sleep.yaml", "sleep: 1s\n"), "--", "program"); err != nil || r.Backend != api.BackendExec {
		t.Errorf("a program in place of the file's sleep: %+v, %v", r, err)
	}
	if r, _, err = asked(t, "", "--", script); err != nil || r.Tasks[0].Payload.Exec.Script != nil || r.Name != "" {
		t.Errorf("after --, a script is a program of the nodes: %+v, %v", r, err)
	}
}

// The lines of a script in a job file count as those of any script: before the file, and after the
// command line.
func TestScriptOfJobFileHasLines(t *testing.T) {
	file := write(t, "js.yaml", `
name: file
retries: 1
array: 1-9
env: {A: file, B: file}
arguments: [x]
script: |
  #!/bin/sh
  #PIGEON --tasks 2 --time-limit 1s --retries 2 --name 'of the script'
  #PIGEON --env 'A=of the script'
  sleep 2
  #PIGEON --cpus 3
`)
	r, errs, err := asked(t, "", "--file", file, "--retries", "3", "--env", "C=flag")
	if err != nil {
		t.Fatal(err)
	}
	e := r.Tasks[0].Payload.Exec
	got := fmt.Sprint(r.Name, r.Retries, len(r.Tasks), r.Array, r.Limits, e.Argv, e.Env)
	if want := "of the script3 2 {0 0  false} time limit 1s [script x] [B=file A=of the script C=flag]"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
	if want := "pigeon: the script of " + file + ", line 5: flags after the first command are ignored"; !strings.Contains(errs, want) {
		t.Errorf("said %q, want %q", errs, want)
	}
	if r, _, err = asked(t, "", "--file", file, "--", "program"); err != nil || r.Name != "file" || len(r.Tasks) != 9 {
		t.Errorf("the lines of a script that does not run: %+v, %v", r, err)
	}
	const wrong = `{"script": "#!/bin/sh\n#PIGEON --file x\n"}`
	if _, _, err = asked(t, wrong, "--file", "-"); err == nil || !strings.Contains(err.Error(), "the script of standard input, line 2: --file is for the command line") {
		t.Errorf("a line that no script can have: %v", err)
	}
}

func TestJobFileForms(t *testing.T) {
	for name, text := range map[string]string{
		"JSON":           "{\n\t\"command\": [\"echo\", \"hi\"],\n\t\"tasks\": 2, \"env\": {\"A\": \"b\"}\n}",
		"YAML":           "command: [echo, hi]\ntasks: 2\nenv: {A: b}\n",
		"with an anchor": "command: &c [echo, hi]\ntasks: 2\nenv: {A: b}\n",
	} {
		r, _, err := asked(t, text, "--file", "-")
		if err != nil || len(r.Tasks) != 2 || r.Tasks[1].Payload.Exec.Argv[1] != "hi" || r.Tasks[0].Payload.Exec.Env[0] != "A=b" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	r, _, err := asked(t, "name: inline\nscript: |\n  #!/bin/sh\n  echo $1\narguments: [x]\n", "--file", "-")
	if err != nil || string(r.Tasks[0].Payload.Exec.Script) != "#!/bin/sh\necho $1\n" || fmt.Sprint(r.Tasks[0].Payload.Exec.Argv) != "[script x]" {
		t.Errorf("%+v, %v", r, err)
	}
	t.Setenv("FROM_ME", "mine")
	if r, _, err = asked(t, "command: [env]\nenv: {FROM_ME: }\n", "--file", "-"); err != nil || r.Tasks[0].Payload.Exec.Env[0] != "FROM_ME=mine" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Mistakes in a job file are named with their line.
func TestMistakesInJobFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "standard input says nothing",
		"command: [a\n":                  "neither YAML nor JSON",
		"- a\n":                          "line 1: a job is written as keys",
		"command: [a]\nnam: x\n":         `line 2: a job has no key "nam"; the nearest is "name"`,
		"command: [a]\ntime-limit: 1s\n": `the nearest is "time_limit"`,
		"command: [a]\nqqqqqqqq: x\n":    `line 2: a job has no key "qqqqqqqq"; it has name, owner`,
		"command: [a]\nenv:\n  A: 1\n  B: 2\n  A: 3\n":              `line 5: env: "A" is on line 3 already`,
		`{"command": ["a"], "env": {"A": "1", "A": null}}`:          `env: "A" is on line 1 already`,
		"command: [a]\n\ncommand: [b]\n":                            `line 3: the key "command" is there already, in line 1`,
		"command: make -j 2\n":                                      "line 1: command: write a list, such as command: [make, -j, 2]",
		"command: [a]\nname: [x]\n":                                 "line 2: name is a list; write a text or a number",
		"command: [a]\nname:\n":                                     "line 2: name is null; write a text or a number",
		"command: [[a]]\n":                                          "line 1: command: entry 1 is a list; write a text or a number",
		"command: [echo, null]\n":                                   "line 1: command: entry 2 is null; write a text or a number",
		"command: [a]\nenv: {B: {c: d}}\n":                          "line 2: env: B is a map; write a text or a number",
		"command: [a]\ncpus: 0\n":                                   `line 2: cpus "0": a task needs some of a processor; use 0.01 to 100000`,
		"command: [a]\nkey: ''\n":                                   `line 2: key "": it is empty`,
		"command: [a]\nafter: [01JC0000000000000000000000:maybe]\n": `--after: ":maybe" is no condition; write JOB:ok`,
		"command: [a]\nenv: [A=b]\n":                                "line 2: env: write a map",
		"command: [a]\nenv: {A=b: c}\n":                             `line 2: env: "A=b" is no name`,
		"command: [a]\ntasks: many\n":                               `line 2: tasks "many": must be an integer`,
		"command: [a]\nmemory: 5\n":                                 `line 2: memory "5": "5" has no unit`,
		"command: [a]\narray: 1-1000%0\n":                           "is no range of indices",
		"command: [a]\narray: 1-9%5\nmax_running: 4\n":              "lets 5 tasks run at a time, and --max-running 4",
		"command: [a]\nmax_running: 0\n":                            "lets no task run",
		"command: [a]\nafter: [\":ok\"]\n":                          "--after:",
		"command: [a]\n---\ncommand: [b]\n":                         "more than one document",
		"command: [a]\nscript: \"#!/bin/sh\"\n":                     "a command and a script",
		"script: echo\n":                                            "line 1: the first line of the script does not name its interpreter",
		"script: \"#!/bin/sh -e\\r\\ntrue\\r\\n\"\n":                "line 1: the first line of the script ends in a carriage return",
		"command: [a]\narguments: [b]\n":                            "line 2: arguments are those of a script",
		"name: x\n":                                                 "no program to run",
		"command: [a]\nsleep: 1s\n":                                 "both --sleep and a program",
		"command: [a]\ntasks: 2\narray: 1-2\n":                      "both --tasks and --array",
		"command: [a]\nenv: {NO_SUCH_VARIABLE_X: }\n":               "env: NO_SUCH_VARIABLE_X: your environment has no such variable",
		"command: [a]\n#" + strings.Repeat("x", request.MaxJobFile): "the limit of a job file",
	} {
		_, _, err := asked(t, text, "--file", "-")
		if _, usage := errors.AsType[cli.UsageError](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := asked(t, "", "--file", "/no/such/file"); err == nil || !strings.Contains(err.Error(), "name a job file") {
		t.Error(err)
	}
}

func TestMistakesInScripts(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\n#PIGEON --nam x\n":              "job.sh, line 2: --nam is not a flag of \"submit\"; the nearest is --name",
		"#!/bin/sh\n\n#PIGEON --name 'x\n":          "line 3: its quotes have no end",
		"#!/bin/sh\n#PIGEON name x\n":               `line 2: "name" is no flag`,
		"#!/bin/sh\n#PIGEON --file x\n":             "line 2: --file is for the command line",
		"#!/bin/sh\n#PIGEON --help\n":               "line 2: --help is for the command line",
		"#!/bin/sh\n#PIGEON --tasks 0\n":            "--tasks is 0, and a job has at least one task",
		"#!/bin/sh\n#PIGEON --tasks\n":              "line 2: flag needs an argument",
		"#PIGEON --tasks 2\necho\n":                 "the first line does not name the interpreter",
		"#!/bin/sh\n" + strings.Repeat("#", 262144): "more than 262144 bytes",
		"#!/bin/sh\r\n#PIGEON --name x\r\ntrue\r\n": "job.sh, line 1: it ends in a carriage return, as in files from Windows, and no node has an interpreter \"/bin/sh\\r\"; remove those at the ends of all lines",
		"echo hi\n":          "job.sh is a file here whose first line does not name its interpreter",
		"":                   "first line does not name its interpreter",
		"\xff\xfe#\x00!\x00": "job.sh cannot be sent: it is written in UTF-16",
	} {
		_, _, err := asked(t, "", write(t, "job.sh", text))
		if _, usage := errors.AsType[cli.UsageError](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// write writes a file into a new folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
