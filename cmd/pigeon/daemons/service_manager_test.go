package daemons

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testManager receives what a daemon tells its service manager.
type testManager struct {
	*net.UnixConn
	t *testing.T
}

func newTestManager(t *testing.T, variables map[string]string) (testManager, serviceManager) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m, err := openServiceManager(func(name string) string {
		if name == "NOTIFY_SOCKET" {
			return socket
		}
		return variables[name]
	}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return testManager{l, t}, m
}

// told returns the next state except for signs of life, without its last line.
func (m testManager) told() string {
	m.t.Helper()
	for {
		state, _, _ := strings.Cut(m.next(), "\n")
		if state != "WATCHDOG=1" {
			return state
		}
	}
}

func (m testManager) next() string {
	m.t.Helper()
	buffer := make([]byte, 4096)
	if err := m.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		m.t.Fatal(err)
	}
	n, err := m.Read(buffer)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(buffer[:n])
}

func TestServiceManagerIsTold(t *testing.T) {
	receiver, m := newTestManager(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	ready := make(chan struct{})
	end := m.follow(ctx, ready, time.Hour)
	defer end()
	close(ready)
	if got := receiver.told(); got != "READY=1" {
		t.Errorf("a daemon that is ready reported %q", got)
	}
	stop()
	if got := receiver.told(); got != "STOPPING=1" {
		t.Errorf("a daemon that stops reported %q", got)
	}
}

// A daemon that waits for others counts as started, reports that it waits, and later that it
// serves.
func TestServiceManagerDoesNotWaitForOthers(t *testing.T) {
	receiver, m := newTestManager(t, nil)
	ready := make(chan struct{})
	end := m.follow(t.Context(), ready, time.Nanosecond)
	defer end()
	if got := receiver.next(); !strings.HasPrefix(got, "READY=1\n") || !strings.Contains(got, "waits") {
		t.Errorf("a daemon that waits reported %q", got)
	}
	close(ready)
	if got := receiver.next(); !strings.Contains(got, "serves") {
		t.Errorf("then it reported %q", got)
	}
}

// Signs of life continue while a daemon stops, which may take as long as stop_wait.
func TestServiceManagerSeesLife(t *testing.T) {
	receiver, m := newTestManager(t, map[string]string{"WATCHDOG_USEC": "3000", "WATCHDOG_PID": "7"})
	ctx, stop := context.WithCancel(t.Context())
	end := m.follow(ctx, nil, time.Hour)
	defer end()
	if got := receiver.next(); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	stop()
	if got := receiver.told(); got != "STOPPING=1" {
		t.Errorf("got %q", got)
	}
	if got := receiver.next(); got != "WATCHDOG=1" {
		t.Errorf("while it stops: %q", got)
	}
}

func TestServiceManagerOfTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		variables map[string]string
		watchdog  time.Duration
	}{
		"none":              {nil, 0},
		"a minute":          {map[string]string{"WATCHDOG_USEC": "60000000"}, time.Minute},
		"another process's": {map[string]string{"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"}, 0},
		"no number":         {map[string]string{"WATCHDOG_USEC": "soon"}, 0},
	} {
		_, m := newTestManager(t, c.variables)
		if m.watchdog != c.watchdog {
			t.Errorf("%s: %v, want %v", name, m.watchdog, c.watchdog)
		}
		m.follow(t.Context(), nil, time.Hour)()
	}
	none, err := openServiceManager(func(string) string { return "" }, 7)
	if err != nil || none.conn != nil {
		t.Errorf("without a manager: %+v, %v", none, err)
	}
	none.follow(t.Context(), nil, 0)()
	absent := filepath.Join(t.TempDir(), "absent")
	if _, err := openServiceManager(func(string) string { return absent }, 7); err == nil || !strings.Contains(err.Error(), "NOTIFY_SOCKET") {
		t.Errorf("of an absent socket: %v", err)
	}
}
