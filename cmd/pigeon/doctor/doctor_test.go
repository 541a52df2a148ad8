package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		name, address string
		status        Status
		parts         string
	}{
		{"taken", listen(t).Addr().String(), Warn, "(frontend) is in use"},
		{"free", "127.0.0.1:0", Good, "free"},
		{"not ours", "192.0.2.1:20503", Warn, "192.0.2.1:20503"},
	} {
		got := ports([]Port{{c.address, "frontend"}})
		if got.Status != c.status || !strings.Contains(got.Found, c.parts) || (got.Advice == "") != (c.status == Good) {
			t.Errorf("%s: %+v, want %s with %q", c.name, got, c.status, c.parts)
		}
	}
}

// The next folder above one that is not there is tried, and what cannot be tried is no fault.
func TestFolders(t *testing.T) {
	there := t.TempDir()
	for err, want := range map[error]Status{nil: Good, errors.New("it is full"): Bad, os.ErrPermission: Warn} {
		var tried string
		got := folders([]Folder{{filepath.Join(there, "a", "b"), "frontend", func(path string) error { tried = path; return err }}})
		if got.Status != want || tried != there {
			t.Errorf("%v: %+v, want %s; %s was tried, want %s", err, got, want, tried, there)
		}
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
			checks = append(checks, Check{"x", func() Finding { return Finding{Status: s} }})
		}
		if got, err := Run(t.Context(), checks, func(Finding) error { return nil }); got != c.worst || err != nil {
			t.Errorf("%v: %s, %v", c.found, got, err)
		}
	}
}

// An interruption ends the checks, and nothing more is reported.
func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	check := Check{"first", func() Finding { return Finding{} }}
	var reported []string
	_, err := Run(ctx, []Check{check, check}, func(f Finding) error {
		reported = append(reported, f.Check)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(reported, []string{"first"}) {
		t.Errorf("reported %v, %v", reported, err)
	}
	failed := errors.New("cannot be printed")
	if _, err := Run(t.Context(), []Check{check}, func(Finding) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
