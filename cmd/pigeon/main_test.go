package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

// TestMain makes this test the program when it is started with a verb: as the
// guard of exec tasks, or as a daemon of a test that needs real processes.
func TestMain(m *testing.M) {
	register()
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	for _, name := range []string{"PIGEON_FRONTEND", "PIGEON_TOKEN_FILE", "PIGEON_TLS_CA"} {
		_ = os.Unsetenv(name) // no test uses the cluster of the user who runs it
	}
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}

// testConfig takes the place of a daemon's configuration.
type testConfig struct {
	Listen string        `mapstructure:"listen" doc:"Address, host:port."`
	Wait   time.Duration `mapstructure:"wait" doc:"Patience, a duration."`
}

func testRoles() []connect.Role {
	return []connect.Role{connect.RoleOf("lorry", "Settings of a lorry.", testConfig{Listen: "127.0.0.1:1", Wait: time.Second})}
}

// pigeon runs the program with an additional role.
func pigeon(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), newRoot(testRoles()), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, connect.HideFlags)
	return code, out.String(), errs.String()
}

func TestExitStatusAndMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for path, text := range map[string]string{good: "wait: 2s\n", bad: "wiat: 2s\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		code   int
		stdout string // part of it; "" means that nothing may be printed
		stderr string // as stdout
	}{
		{"", cli.ExitDone, "Simulate and measure:", ""},
		{"", cli.ExitDone, "See what happens:", ""},
		{"top --every 1ms", cli.ExitUsage, "", "--every 1ms"},
		{"--help", cli.ExitDone, "Examples:", ""},
		{"config", cli.ExitDone, "write", ""},
		{"version", cli.ExitDone, "pigeon ", ""},
		{"version -o json", cli.ExitDone, `"go":"go1.`, ""},
		{"doctor", cli.ExitDone, "good", ""},
		{"doctor -o json", cli.ExitDone, `"check":"folders"`, ""},
		{"completion bash", cli.ExitDone, "__start_pigeon", ""},
		{"config show lorry", cli.ExitDone, "listen  127.0.0.1:1  default", ""},
		{"config show lorry --wait 3s", cli.ExitDone, "wait    3s           flag --wait", ""},
		{"config show lorry --config " + good + " -o json", cli.ExitDone, `{"key":"wait","value":2,"text":"2s","from":"file","where":"` + good + `:1"}`, ""},
		{"config check lorry " + good, cli.ExitDone, "good, sets 1 of 2 keys", ""},
		{"config roles", cli.ExitDone, "lorry\n", ""},
		{"config write lorry", cli.ExitDone, "# Patience, a duration.\nwait: 1s\n", ""},
		{"config write lorry --wait 3s", cli.ExitDone, "# Patience, a duration. (default 1s)\nwait: 3s\n", ""},
		{"config write lorry --config " + good, cli.ExitDone, "wait: 2s\n", ""},
		{"config write lorry --config " + bad, cli.ExitUsage, "", "wiat"},

		{"verion", cli.ExitUsage, "", `"verion" is not a verb of "pigeon"; the nearest is "version"`},
		{"mmmmmmmmmm", cli.ExitUsage, "", `"mmmmmmmmmm" is not a verb of "pigeon", and resembles none; see 'pigeon --help'`},
		{"version --mmmmmmmmmm", cli.ExitUsage, "", `--mmmmmmmmmm is not a flag of "pigeon version", and resembles none; see 'pigeon version --help'`},
		{"completion", cli.ExitDone, "bash", ""},
		{"completion foo", cli.ExitUsage, "", `"foo" is not a verb of "pigeon completion"`},
		{"verion --trace x", cli.ExitUsage, "", `"version"`},
		{"config shwo", cli.ExitUsage, "", `"show"`},
		{"config show lory", cli.ExitUsage, "", `"lorry"`},
		{"version --outptu json", cli.ExitUsage, "", "--output"},
		{"version -o xml", cli.ExitUsage, "", "text and json"},
		{"version more", cli.ExitUsage, "", "more"},
		{"version -z", cli.ExitUsage, "", "-z"},
		{"config show lorry --wait 3", cli.ExitUsage, "", "unit"},
		{"config show lorry --config " + bad, cli.ExitUsage, "", `"wait"`},
		{"config show lorry --config absent.yaml", cli.ExitUsage, "", "absent.yaml"},
		{"config check lorry", cli.ExitUsage, "", "name a f"},
		{"config check lorry " + bad, cli.ExitUsage, "", "line 1"},
		{"sim --classes guessed", cli.ExitUsage, "", "guessed"},
	} {
		code, stdout, stderr := pigeon(t, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("pigeon %s: status %d, want %d; %s", c.args, code, c.code, stderr)
		}
		for _, s := range [][3]string{{"standard output", stdout, c.stdout}, {"standard error", stderr, c.stderr}} {
			if s[2] == "" && s[1] != "" || !strings.Contains(s[1], s[2]) {
				t.Errorf("pigeon %s: %s is %q, want %q", c.args, s[0], s[1], s[2])
			}
		}
	}
}

func TestEnvironmentReachesConfig(t *testing.T) {
	t.Setenv("PIGEON_WAIT", "5s")
	t.Setenv("PIGEON_FRONTEND", "127.0.0.1:20503") // not a lorry's, and known all the same
	if code, out, errs := pigeon(t, "config", "show", "lorry"); code != cli.ExitDone || !strings.Contains(out, "environment PIGEON_WAIT") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	t.Setenv("PIGEON_WIAT", "5s")
	if code, _, errs := pigeon(t, "config", "show", "lorry"); code != cli.ExitUsage || !strings.Contains(errs, "PIGEON_WAIT") {
		t.Errorf("a misspelt variable: %d %s", code, errs)
	}
}

// TestJSONLines: -o json prints one object a line on standard output, nothing else.
func TestJSONLines(t *testing.T) {
	for _, args := range []string{"version -o json", "doctor -o json", "config show lorry -o json"} {
		_, out, _ := pigeon(t, strings.Fields(args)...)
		for line := range strings.Lines(out) {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil || len(object) == 0 {
				t.Errorf("pigeon %s: %q: %v", args, line, err)
			}
		}
	}
}

// TestVerbsAreDocumented: every verb has a group, a line of help, and examples
// where it does something. One whose line of use names no arguments refuses them: cobra would
// ignore them.
func TestVerbsAreDocumented(t *testing.T) {
	var look func(c *cobra.Command, top bool)
	look = func(c *cobra.Command, top bool) {
		var lacks []string
		for field, missing := range map[string]bool{
			"Short": c.Short == "", "GroupID (root.go has the groups)": top && c.GroupID == "", "Example": !c.HasSubCommands() && c.Example == "",
			"Args (flagsOnly, where it takes no arguments)": !c.HasSubCommands() && c.Args == nil && !strings.Contains(c.Use, " "),
		} {
			if missing {
				lacks = append(lacks, field)
			}
		}
		if len(lacks) > 0 {
			t.Errorf("the command of %q lacks %s", c.CommandPath(), strings.Join(slices.Sorted(slices.Values(lacks)), ", "))
		}
		for _, child := range c.Commands() {
			look(child, false)
		}
	}
	for _, c := range newRoot(testRoles()).Commands() {
		look(c, true)
	}
}

// TestRunIsTheProgram: main's own entry, without a table of the test's.
func TestRunIsTheProgram(t *testing.T) {
	var out, errs bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	if code := run(ctx, []string{"version"}, strings.NewReader(""), &out, &errs); code != cli.ExitDone || out.Len() == 0 {
		t.Errorf("%d %s", code, errs.String())
	}
	cancel()
	if code := run(ctx, []string{"doctor"}, strings.NewReader(""), &out, &errs); code != cli.ExitInterrupted || !strings.HasPrefix(errs.String(), "interrupted") {
		t.Errorf("cancelled: %d %s", code, errs.String())
	}
}
