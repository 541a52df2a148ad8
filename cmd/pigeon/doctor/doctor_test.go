package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// greet answers one connection with text.
func greet(t *testing.T, text string) string {
	t.Helper()
	l := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte(text))
		_ = c.Close()
	}()
	t.Cleanup(func() { <-done })
	return l.Addr().String()
}

func TestFindings(t *testing.T) {
	ctx := context.Background()
	taken := listen(t).Addr().String()
	absent := filepath.Join(t.TempDir(), "absent")
	for _, c := range []struct {
		name   string
		got    Finding
		status Status
		parts  string
	}{
		{"port taken", ports(ctx, []Port{{taken, "frontend"}}), Warn, "(frontend) is in use"},
		{"port free", ports(ctx, []Port{{"127.0.0.1:0", "frontend"}}), Good, "free"},
		{"not our address", ports(ctx, []Port{{"192.0.2.1:20503", "frontend"}}), Warn, "192.0.2.1:20503"},
		{"loopback", loopback(ctx, []string{"127.0.0.1"}), Good, "127.0.0.1"},
		{"no loopback", loopback(ctx, []string{"192.0.2.1"}), Warn, "192.0.2.1 cannot be bound"},
		{"nats", nats(ctx, greet(t, "INFO {\"version\":\"2.15.2\"} \r\n")), Good, "nats-server 2.15.2"},
		{"no nats", nats(ctx, greet(t, "220 mail\r\n")), Warn, "does not greet"},
		{"mute", nats(ctx, greet(t, "")), Warn, "does not greet"},
		{"endless", nats(ctx, greet(t, strings.Repeat("x", 2*natsGreeting))), Warn, "does not greet"},
		{"disk", disk(t.TempDir()), Good, "synced"},
		{"no folder", disk(absent), Bad, "absent"},
		{"space of no folder", space(absent), Warn, "absent"},
	} {
		if c.name == "disk" && c.got.Status == Warn {
			continue // a slow disk is no fault of the check
		}
		if c.got.Status != c.status || !strings.Contains(c.got.Found, c.parts) || (c.got.Advice == "") != (c.status == Good) {
			t.Errorf("%s: %+v, want %s with %q", c.name, c.got, c.status, c.parts)
		}
	}
}

// The flag that is advised is one of "pigeon frontend".
func TestAdviceNamesTheFlagOfTheFolder(t *testing.T) {
	fs := pflag.NewFlagSet("frontend", pflag.ContinueOnError)
	if err := config.Flags(fs, frontend.Default()); err != nil {
		t.Fatal(err)
	}
	advice := disk(filepath.Join(t.TempDir(), "absent")).Advice
	named := regexp.MustCompile(`--[a-z-]+`).FindAllString(advice, -1)
	if len(named) != 1 || fs.Lookup(strings.TrimPrefix(named[0], "--")) == nil {
		t.Errorf("%q names %q", advice, named)
	}
}

// TestChecksLeaveNothing: every check runs, reports its finding, and the folder
// is as it was.
func TestChecksLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	checks := Checks(Options{TempDir: dir, NATS: "127.0.0.1:1", Nodes: []string{"127.0.0.1"}})
	seen := 0
	if _, err := Run(t.Context(), checks, func(f Finding) error {
		seen++
		if f.Check == "" || f.Found == "" || f.Status == Bad {
			t.Errorf("%+v", f)
		}
		return nil
	}); err != nil || seen != len(checks) {
		t.Errorf("%d of %d checks, %v", seen, len(checks), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWorstStatus(t *testing.T) {
	for _, c := range []struct {
		found []Status
		worst Status
	}{
		{nil, Good},
		{[]Status{Good, Good}, Good},
		{[]Status{Good, Warn, Good}, Warn},
		{[]Status{Warn, Bad, Warn, Good}, Bad},
	} {
		var checks []Check
		for _, s := range c.found {
			checks = append(checks, Check{"x", func(context.Context) Finding { return Finding{Status: s} }})
		}
		if got, err := Run(t.Context(), checks, func(Finding) error { return nil }); got != c.worst || err != nil {
			t.Errorf("%v: %s, %v", c.found, got, err)
		}
	}
}

// An interruption ends the checks that wait, and nothing more is reported.
func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first := Check{"first", func(context.Context) Finding { return Finding{} }}
	waits := Check{"waits", func(ctx context.Context) Finding { <-ctx.Done(); return Finding{} }}
	var reported []string
	_, err := Run(ctx, []Check{first, waits, first}, func(f Finding) error {
		reported = append(reported, f.Check)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(reported, []string{"first"}) {
		t.Errorf("reported %v, %v", reported, err)
	}
	failed := errors.New("cannot be printed")
	if _, err := Run(t.Context(), []Check{first, waits}, func(Finding) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
