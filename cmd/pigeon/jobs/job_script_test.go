package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// A byte order mark, which an editor puts before a text without showing it, changes nothing.
func TestByteOrderMarks(t *testing.T) {
	const mark = "\ufeff"
	env := write(t, "env", mark+"FIRST=1\r\nSECOND=2\r\n")
	for _, c := range []struct {
		stdin string
		args  []string
	}{
		{"", []string{"--env-file", env, "--", "a"}},
		{mark + "FIRST=1\nSECOND=2\n", []string{"--env-file", "-", "--", "a"}},
		{"", []string{"--file", write(t, "job.yaml", mark+"command: [a]\nenv: {FIRST: 1, SECOND: 2}\n")}},
		{mark + "{\n\t\"command\": [\"a\"],\n\t\"env\": {\"FIRST\": 1, \"SECOND\": 2}\n}", []string{"--file", "-"}},
		{"", []string{write(t, "job.sh", mark+"#!/bin/sh\n#PIGEON --env FIRST=1 --env SECOND=2\n")}},
		{mark + "#!/bin/sh\n#PIGEON --env FIRST=1 --env SECOND=2\n", []string{"-"}},
	} {
		r, _, err := asked(t, c.stdin, c.args...)
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		e := r.Tasks[0].Payload.Exec
		if fmt.Sprint(e.Env) != "[FIRST=1 SECOND=2]" || e.Script != nil && !strings.HasPrefix(string(e.Script), "#!") {
			t.Errorf("%q has %q, and the script %q", c.args, e.Env, e.Script)
		}
	}
	cfg, _, err := config.Load(connect.DefaultClient(), config.Source{File: write(t, "client.yaml", mark+"frontend: [h:1]\n")})
	if err != nil || len(cfg.Frontend) != 1 {
		t.Errorf("client.yaml: %v, %v", cfg.Frontend, err)
	}
	const inventory = "hosts:\n  - name: a\n    address: 127.0.0.1\n    roles: [frontend, master, nodemonitor]\n"
	if _, err := hosts.Read(write(t, "hosts.yaml", mark+inventory)); err != nil && strings.Contains(err.Error(), "understood") {
		t.Errorf("an inventory: %v", err)
	}
	for name, args := range map[string][]string{"job.yaml": {"--file"}, "env": {"--env-file"}} {
		if _, _, err := asked(t, "", append(args, write(t, name, "\xff\xfea\x00"), "--", "a")...); err == nil || !strings.Contains(err.Error(), "UTF-16") {
			t.Errorf("%s in UTF-16: %v", name, err)
		}
	}
}

// A word that is no program of the nodes is refused, or warned of, before its job can fail there.
func TestWordsThatAreNoPrograms(t *testing.T) {
	at := t.TempDir()
	t.Chdir(at)
	for name, text := range map[string]string{
		"job.sh": "#!/bin/sh\n", "notes": "echo hi\n", "a.out": "\x7fELF\x00", "true": "echo a file of this name\n", "sub/x.py": "print()\n", "empty": "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ words, refused, warned string }{
		{"job.sh", "", ""},
		{"./job.sh", "", ""},
		{"notes", "notes is a file here whose first line does not name its interpreter", ""},
		{"empty", "does not name its interpreter", ""},
		{"sub/x.py", "pigeon submit -- sub/x.py", ""},
		{"sub", "is a folder", ""},
		{"true", "", ""}, // of the PATH
		{"./true", "does not name its interpreter", ""},
		{"a.out", "--stage a.out -- ./a.out", ""},
		{"./a.out", "--stage ./a.out -- ./a.out", ""},
		{"--stage a.out ./a.out", "", ""},
		{"--dir . ./a.out", "", ""},
		{at + "/a.out", "", ""},
		{"./typo.sh", "there is no file ./typo.sh here", ""},
		{"typo.sh", "there is no file typo.sh here", ""},
		{"sub/typo", "there is no file sub/typo here", ""},
		{"/no/such/typo.sh", "", "/no/such/typo.sh is no file of this machine; its nodes must have it"},
		{"--dir . ./typo.sh", "", "./typo.sh is no file of this machine, neither here nor in --dir ."},
		{"--dir sub x.py", "", ""},
		{"typo", "", ""}, // a program, for all that is known here
		{"-- typo.sh", "", ""},
		{"-- ./typo.sh", "", "add --stage ./typo.sh"},
		{"--stage notes -- ./notes", "", ""},
		{"- x", "standard input: the first line does not name the interpreter", ""},
		{"--env-file - -", "standard input", ""},
		{"--file - -", "standard input", ""},
	} {
		_, errs, err := asked(t, "", strings.Fields(c.words)...)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) || (errs != "") != (c.warned != "") || !strings.Contains(errs, c.warned) {
			t.Errorf("%s: refused with %v, want %q; warned %q, want %q", c.words, err, c.refused, errs, c.warned)
		}
	}
	r, _, err := asked(t, "#!/bin/sh\n#PIGEON --tasks 2\n", "-", "x")
	if err != nil || fmt.Sprint(r.Tasks[0].Payload.Exec.Argv, len(r.Tasks)) != "[script x] 2" {
		t.Errorf("a script on standard input: %+v, %v", r, err)
	}
}

// Lines that were meant as options are counted, and none else.
func TestUnreadOptions(t *testing.T) {
	for line, counted := range map[string]bool{
		"#SBATCH --array=1-9": true, "#SBATCH -n 4": true, "# SBATCH --time=1": true, "#PBS -l nodes=1": true, "#BSUB -J x": true, "#$ -cwd": true, "#flux: --ntasks=2": true,
		"# PIGEON --tasks 2": true, "#PIGEON: --tasks 2": true, "#PIGEON:tasks=2": true, "#pigeon --tasks 2": true, "#PIGEON--tasks 2": true, "# PIGEON -n x": true,
		"##SBATCH --array=1-9": false, "#PIGEON --name x": false, "# Pigeon runs this": false, "# under pigeon-x it waits": false, "#PIGEONS are birds": false, "#": false, "# pigeon - notes": false,
		"echo #SBATCH -n 4": false,
	} {
		_, errs, err := asked(t, "", write(t, "job.sh", "#!/bin/sh\n"+line+"\necho\n#SBATCH --later\n"))
		if err != nil || strings.Contains(errs, "1 line looks like options and is not read, from line 2 on") != counted || counted != strings.Contains(errs, "docs/jobs.md") {
			t.Errorf("%s: %q, %v", line, errs, err)
		}
	}
	if _, errs, _ := asked(t, "", write(t, "job.sh", "#!/bin/sh\n\n#SBATCH -n 4\n#SBATCH -t 1\n# PIGEON --x\n")); !strings.Contains(errs, "3 lines look like options and are not read, from line 3 on") {
		t.Error(errs)
	}
}

// The refusal of too many arguments says how many there are, and where to put them.
func TestTooManyArguments(t *testing.T) {
	_, _, err := asked(t, "", append([]string{"--env", "A=b", "--", "a"}, make([]string, 5000)...)...)
	if err == nil || !strings.Contains(err.Error(), "it has 5001 arguments and 1 variables, together more than the limit of 4096") || !strings.Contains(err.Error(), "--stage FILE") {
		t.Error(err)
	}
}
