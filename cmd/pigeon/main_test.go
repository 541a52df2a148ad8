package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/workload"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

func testRoles() []role {
	return []role{roleOf("lorry", "Settings of a lorry.", testConfig{Listen: "127.0.0.1:1", Wait: time.Second})}
}

// pigeon runs the program with an additional role.
func pigeon(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), newRoot(testRoles()), args, stdio{strings.NewReader(""), &out, &errs})
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
		{"", exitDone, "Simulate and measure:", ""},
		{"", exitDone, "See what happens:", ""},
		{"top --every 1ms", exitUsage, "", "--every 1ms"},
		{"--help", exitDone, "Examples:", ""},
		{"config", exitDone, "write", ""},
		{"version", exitDone, "pigeon ", ""},
		{"version -o json", exitDone, `"go":"go1.`, ""},
		{"doctor", exitDone, "good", ""},
		{"doctor -o json", exitDone, `"check":"folders"`, ""},
		{"completion bash", exitDone, "__start_pigeon", ""},
		{"config show lorry", exitDone, "listen  127.0.0.1:1  default", ""},
		{"config show lorry --wait 3s", exitDone, "wait    3s           flag --wait", ""},
		{"config show lorry --config " + good + " -o json", exitDone, `{"key":"wait","value":2,"text":"2s","from":"file","where":"` + good + `:1"}`, ""},
		{"config check lorry " + good, exitDone, "good, sets 1 of 2 keys", ""},
		{"config roles", exitDone, "lorry\n", ""},
		{"config write lorry", exitDone, "# Patience, a duration.\nwait: 1s\n", ""},
		{"config write lorry --wait 3s", exitDone, "# Patience, a duration. (default 1s)\nwait: 3s\n", ""},
		{"config write lorry --config " + good, exitDone, "wait: 2s\n", ""},
		{"config write lorry --config " + bad, exitUsage, "", "wiat"},
		{"trace inspect gen:ec2,jobs=50", exitDone, "50 jobs", ""},
		{"trace convert gen:ec2,jobs=2", exitDone, "0 1 0.", ""},

		{"verion", exitUsage, "", `"verion" is not a verb of "pigeon"; the nearest is "version"`},
		{"mmmmmmmmmm", exitUsage, "", `"mmmmmmmmmm" is not a verb of "pigeon", and resembles none; see 'pigeon --help'`},
		{"version --mmmmmmmmmm", exitUsage, "", `--mmmmmmmmmm is not a flag of "pigeon version", and resembles none; see 'pigeon version --help'`},
		{"completion", exitDone, "bash", ""},
		{"completion foo", exitUsage, "", `"foo" is not a verb of "pigeon completion"`},
		{"verion --trace x", exitUsage, "", `"version"`},
		{"config shwo", exitUsage, "", `"show"`},
		{"config show lory", exitUsage, "", `"lorry"`},
		{"version --outptu json", exitUsage, "", "--output"},
		{"version -o xml", exitUsage, "", "text and json"},
		{"version more", exitUsage, "", "more"},
		{"version -z", exitUsage, "", "-z"},
		{"config show lorry --wait 3", exitUsage, "", "unit"},
		{"config show lorry --config " + bad, exitUsage, "", `"wait"`},
		{"config show lorry --config absent.yaml", exitUsage, "", "absent.yaml"},
		{"config check lorry", exitUsage, "", "name a f"},
		{"config check lorry " + bad, exitUsage, "", "line 1"},
		{"trace inspect", exitUsage, "", "gen:NAME"},
		{"trace inspect absent.tr", exitUsage, "", "absent.tr"},
		{"trace inspect gen:nothing", exitUsage, "", "nothing"},
		{"trace inspect gen:ec2 --load NaN", exitUsage, "", "--load"},
		{"trace inspect gen:ec2 --wrong-class 2", exitUsage, "", "--wrong-class"},
		{"trace inspect gen:ec2 --declared 2", exitUsage, "", "--declared"},
		{"trace inspect gen:ec2 --names 3,od=1", exitUsage, "", "odd"},
		{"sim --classes guessed", exitUsage, "", "guessed"},
		{"trace inspect gen:ec2 --owners 3,flod=1", exitUsage, "", "flood"},
		{"trace inspect gen:ec2 --jobs -1", exitUsage, "", "--jobs"},

		{"trace convert gen:ec2,jobs=2 --to " + filepath.Join(dir, "absent", "x.tr"), exitFailed, "", "cannot be written"},
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
	if code, out, errs := pigeon(t, "config", "show", "lorry"); code != exitDone || !strings.Contains(out, "environment PIGEON_WAIT") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	t.Setenv("PIGEON_WIAT", "5s")
	if code, _, errs := pigeon(t, "config", "show", "lorry"); code != exitUsage || !strings.Contains(errs, "PIGEON_WAIT") {
		t.Errorf("a misspelt variable: %d %s", code, errs)
	}
}

// TestJSONLines: -o json prints one object a line on standard output, nothing else.
func TestJSONLines(t *testing.T) {
	for _, args := range []string{"version -o json", "doctor -o json", "config show lorry -o json", "trace inspect gen:ec2,jobs=50 -o json"} {
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

// TestCommittedConfiguration: configs/ROLE.yaml is what "config write" prints.
func TestCommittedConfiguration(t *testing.T) {
	for _, r := range roles() {
		var want bytes.Buffer
		if err := r.write(&want, config.Source{}); err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		path := filepath.Join("..", "..", "configs", r.name+".yaml")
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not current; run 'make configs'", path)
		}
	}
}

func TestLoadConfig(t *testing.T) {
	defaults := testConfig{Listen: "127.0.0.1:1"}
	cmd := &cobra.Command{Use: "lorry"}
	addConfigFlags(cmd, func(fs *pflag.FlagSet) error { return config.Flags(fs, defaults) })
	if err := cmd.ParseFlags([]string{"--wait", "7s"}); err != nil {
		t.Fatal(err)
	}
	if cfg, _, err := loadConfig(cmd, defaults); err != nil || cfg.Wait != 7*time.Second || cfg.Listen != "127.0.0.1:1" {
		t.Errorf("%+v, %v", cfg, err)
	}
	t.Setenv(fileVariable, "absent.yaml")
	if _, _, err := loadConfig(cmd, defaults); !errors.Is(err, os.ErrNotExist) || !errors.As(err, new(usageError)) {
		t.Errorf("got %v", err)
	}
}

// TestConvertRoundTrip: converting the converted changes nothing.
func TestConvertRoundTrip(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.tr"), filepath.Join(dir, "second.tr")
	for _, c := range [][2]string{{"gen:ec2,jobs=200", first}, {first, second}} {
		if code, _, errs := pigeon(t, "trace", "convert", c[0], "--to", c[1]); code != exitDone {
			t.Fatal(errs)
		}
	}
	a, errA := os.ReadFile(first)
	b, errB := os.ReadFile(second)
	if errA != nil || errB != nil || len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes differ; %v %v", len(a), len(b), errA, errB)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestFailedWriteLeavesTheOldFile: the older trace survives a failing write.
func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tr")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := writeWhole(path, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return full })
	if got, _ := os.ReadFile(path); !errors.Is(err, full) || string(got) != "old" {
		t.Errorf("%v, file holds %q", err, got)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestSummary(t *testing.T) {
	const s = 1_000_000_000
	w := &workload.Workload{Name: "x", Jobs: []workload.Job{
		{Durations: []int64{s, 3 * s}, TrueLong: false},
		{Arrival: 10 * s, Durations: []int64{12 * s}, TrueLong: true},
	}}
	got := summarize(w, 2, time.Second)
	if got.Jobs != 2 || got.Tasks != 3 || got.Work != 16 || got.Span != 10 || got.Load != 0.8 {
		t.Errorf("%+v", got)
	}
	if got.Short.WorkShare != 0.25 || got.Short.Fanout.P50 != 2 || got.Short.Duration.P50 != 2 || got.Short.Duration.Max != 3 {
		t.Errorf("short: %+v", got.Short)
	}
	if got.Long.WorkShare != 0.75 || got.Long.Duration.P99 != 12 || got.All.Duration.P50 != 3 {
		t.Errorf("long %+v, all %+v", got.Long, got.All)
	}
	w.Jobs = w.Jobs[:1]
	var text strings.Builder
	short := summarize(w, 2, time.Second)
	if err := short.print(&text); err != nil || !regexp.MustCompile(`(?m)^ +long +0 +0 +0.0%( +-){8}$`).MatchString(text.String()) {
		t.Errorf("a workload without long jobs: %v\n%s", err, &text)
	}
	if text, err := json.Marshal(short.Long.Duration); string(text) != `{"p50":null,"p90":null,"p99":null,"max":null}` {
		t.Errorf("the durations of no job are %s, %v", text, err)
	}
}

// TestRunIsTheProgram: main's own entry, without a table of the test's.
func TestRunIsTheProgram(t *testing.T) {
	var out, errs bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	if code := run(ctx, []string{"version"}, strings.NewReader(""), &out, &errs); code != exitDone || out.Len() == 0 {
		t.Errorf("%d %s", code, errs.String())
	}
	cancel()
	if code := run(ctx, []string{"doctor"}, strings.NewReader(""), &out, &errs); code != exitInterrupted || !strings.HasPrefix(errs.String(), "interrupted") {
		t.Errorf("cancelled: %d %s", code, errs.String())
	}
}
