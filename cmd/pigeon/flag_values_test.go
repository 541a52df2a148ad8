package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestRefusedValues: an error about the value of a flag is about the value, and names what is
// possible.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"submit --sleep 9999999h", `invalid argument "9999999h" for "--sleep" flag: it is too large; use 2562047h or less`},
		{"status --since 9999999h", "it is too large; use 2562047h or less"},
		{"status --since 1.5h2m9999999999h", "it is too large"},
		{"status --since soon", `must be a duration like "30s"`},
		{"status --since 9999999", `must be a duration like "30s"`},
		{"submit --memory 99999999T -- true", `"99999999T" is too large; use 1P or less`},
		{"submit --memory 1e999G -- true", `"1e999G" is too large`},
		{"submit --memory 2P -- true", `"2P" is too large; use 1P or less`},
		{"submit --memory infG -- true", "is no size"},
		{"submit --memory -1G -- true", "is no size"},
		{"submit --time-limit 9999999h -- true", `"9999999h" is too large; use 8760h0m0s or less`},
		{"sim --group-sizes a", `invalid argument "a" for "--group-sizes" flag: "a" is no whole number; write such numbers with commas between`},
		{"sim --group-sizes 3,99999999999999999999", `"99999999999999999999" is too large`},

		{"history --job=", `invalid argument "" for "--job" flag: it is empty; give the id of a job, or leave the flag out`},
		{"history --name=", "it is empty"},
		{"events --job=", "it is empty"},
		{"events --node=", "it is empty"},
		{"status --user=", "it is empty"},
		{"status --name=", "it is empty"},
		{"submit --wait --collect= -- true", `for "--collect" flag: it is empty; name a folder`},
		{"run --collect= -- true", "it is empty"},
		{"run --stage= -- true", "it is empty; name a file or a folder"},
		{"submit --array= -- true", `"" is no range of indices`},
		{"submit --key= -- true", `invalid argument "" for "--key" flag: it is empty; give the key`},
		{"run --key= -- true", `for "--key" flag: it is empty; give the key`},
		{"submit --cpus 0 -- true", `for "--cpus" flag: a task needs some of a processor; use 0.01 to 100000, or leave it out for no limit`},
		{"run --cpus 0.0 -- true", "a task needs some of a processor"},
		{"submit --after= -- true", `--after: "" names no job; write JOB, JOB:ok`},
		{"submit --after 01JC0000000000000000000000:notok -- true", `--after: ":notok" is no condition; write JOB:ok (it must have completed) or JOB:any (however it has ended); there is none for a job that failed, as Slurm's afternotok`},
	} {
		code, out, errs := pigeon(t, strings.Fields(c.args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("pigeon %s: status %d, %s%s\nwant %s", c.args, code, out, errs, c.want)
		}
	}
}

// TestHelpNamesDefaultsOnce: the default of a flag is not shown twice.
func TestHelpNamesDefaultsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ verb, flag, want string }{
		{"files", "--task int", "(default: all)"},
		{"token list", "--file string", "(default "},
		{"history", "--job string", ""},
	} {
		_, out, _ := pigeon(t, append(strings.Fields(c.verb), "--help")...)
		for line := range strings.Lines(out) {
			if strings.Contains(line, c.flag) && (!strings.Contains(line, c.want) || strings.Count(line, "default:")+strings.Count(line, "(default ") > 1 || c.want == "" && strings.Contains(line, "(default")) {
				t.Errorf("pigeon %s: %s", c.verb, line)
			}
		}
		if !strings.Contains(out, c.flag) {
			t.Errorf("pigeon %s has no %s:\n%s", c.verb, c.flag, out)
		}
	}
}

// A value that is refused may be, or have, a secret, which the error does not show.
func TestRefusedValuesShowNoSecrets(t *testing.T) {
	const secret = "QsecretQ"
	for _, c := range []struct{ role, flag, value, want string }{
		{"nodemonitor", "--task-env", `API_KEY="` + secret, `pigeon: invalid argument for "--task-env" flag: expected a comma-separated list`},
		{"frontend", "--masters", `a:1,nats://user:x"` + secret + `@host:1`, `pigeon: invalid argument "a:1,nats://xxxxx@host:1" for "--masters" flag: expected a comma-separated list`},
		{"nodemonitor", "--slots", "many", `pigeon: invalid argument "many" for "--slots" flag: expected a whole number`},
	} {
		code, out, errs := program(t, "config", "show", c.role, c.flag, c.value)
		if code != cli.ExitUsage || strings.Contains(out+errs, secret) || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s%s; want %q", c.flag, code, out, errs, c.want)
		}
	}
	t.Setenv("PIGEON_TASK_ENV", `API_KEY="`+secret)
	if code, out, errs := program(t, "config", "show", "nodemonitor"); code != cli.ExitUsage || strings.Contains(out+errs, secret) || !strings.Contains(errs, `environment variable PIGEON_TASK_ENV (key "task_env"): expected`) {
		t.Errorf("a variable: status %d, %s%s", code, out, errs)
	}
}
