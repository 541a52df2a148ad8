package daemons

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// readyAtLatest is the time after which the service manager counts a daemon as started although
// it is not ready yet: a node monitor waits for its master without a limit, and the start of a
// host must not wait for it.
const readyAtLatest = 20 * time.Second

// serviceManager reports the state of this process to the service manager that started it, by the
// protocol of sd_notify(3). The zero value reports to none.
type serviceManager struct {
	conn     net.Conn
	watchdog time.Duration // within which it wants a sign of life; 0: it wants none
}

// ownServiceManager returns the service manager of this process, whose variables the processes
// that it starts do not get.
func ownServiceManager(log *slog.Logger) serviceManager {
	m, err := openServiceManager(os.Getenv, os.Getpid())
	if err != nil {
		log.Error("the daemon runs without its service manager", "error", err)
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // it fails for malformed names only
	}
	return m
}

// openServiceManager returns the service manager that the environment names, the zero value
// without one. pid is this process's.
func openServiceManager(getenv func(string) string, pid int) (m serviceManager, err error) {
	socket := getenv("NOTIFY_SOCKET")
	if socket == "" {
		return m, nil
	}
	if m.conn, err = net.Dial("unixgram", socket); err != nil {
		return serviceManager{}, fmt.Errorf("the service manager named by NOTIFY_SOCKET cannot be reached: %w", err)
	}
	if of := getenv("WATCHDOG_PID"); of != "" && of != strconv.Itoa(pid) {
		return m, nil // meant for another process
	}
	if usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 {
		m.watchdog = time.Duration(usec) * time.Microsecond
	}
	return m, nil
}

// follow tells the manager when a daemon is ready, or that it counts as started after latest,
// that it stops when ctx ends, and, until the returned function is called, that it lives.
func (m serviceManager) follow(ctx context.Context, ready <-chan struct{}, latest time.Duration) (end func()) {
	if m.conn == nil {
		return func() {}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		late := time.NewTimer(latest)
		defer late.Stop()
		var alive <-chan time.Time
		if m.watchdog > 0 {
			ticker := time.NewTicker(max(m.watchdog/3, time.Millisecond))
			defer ticker.Stop()
			alive = ticker.C
		}
		stopping := ctx.Done()
		for {
			select {
			case <-ready:
				ready = nil
				late.Stop()
				m.tell("READY=1", "STATUS=It serves")
			case <-late.C:
				m.tell("READY=1", "STATUS=It waits for other daemons, see its log")
			case <-alive:
				m.tell("WATCHDOG=1")
			case <-stopping:
				stopping, ready = nil, nil
				late.Stop()
				m.tell("STOPPING=1", "STATUS=It stops")
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		_ = m.conn.Close() // the last state has been sent
	}
}

// tell sends a state. A daemon does not depend on its being received.
func (m serviceManager) tell(state ...string) {
	_, _ = m.conn.Write([]byte(strings.Join(state, "\n")))
}
