package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/pigeon-sched/pigeon/internal/lookup"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// Kind is the number that registerBackend carries.
type Kind int32

// The kinds. General and Reserved are published, Resident is Pigeon's.
const (
	General  Kind = 0
	Reserved Kind = 1
	Resident Kind = 2
)

// String returns the kind's word.
func (k Kind) String() string {
	switch k {
	case General:
		return "general"
	case Reserved:
		return "reserved"
	case Resident:
		return "resident"
	default:
		return "unknown"
	}
}

// Launcher calls launchTask of the backend at an address. It must respect the
// context's deadline.
type Launcher func(ctx context.Context, address string, t *backend.Task) error

// ErrRefused is wrapped by a Launcher's error when the backend answered with an error of
// its own: the process is alive, the task has failed.
var ErrRefused = errors.New("the backend refused the task")

// ErrClosed is wrapped by a Launcher's error when the backend read the call and closed the
// connection instead of answering, as Java's servers do when launchTask throws.
var ErrClosed = errors.New("the backend closed the connection instead of answering")

// Slot is what a classic backend brings. Numbers are not used twice.
type Slot struct {
	Number   int32
	App      string
	Reserved bool
	Address  string // of the backend, as it registered
}

// Events is called with the changes: one call at a time, in their order, without a lock
// held.
type Events interface {
	SlotAdded(Slot)
	SlotGone(s Slot, reason string)
	// ServesChanged gets the applications with a resident backend, sorted.
	ServesChanged(apps []string)
}

// TaskRef names a task as a report does. App and Frontend may be empty; they decide
// only between tasks of equal names.
type TaskRef struct {
	Job      string // requestId
	Task     string // taskId
	App      string // appId
	Scope    string // of the reporter, as api.AppScope: only its own tasks are meant; "" for any
	Frontend string // schedulerAddress, host:port
}

// Config is what a Registry needs. Zero means the default, except for Launch and Events.
type Config struct {
	Launch        Launcher
	Events        Events
	Node          string                                          // for reasons
	FirstSlot     int32                                           // number of the first slot that a backend brings
	Probe         func(ctx context.Context, address string) error // default: TCP connect
	Lookup        lookup.Hosts                                    // default: the system's resolver
	LaunchTimeout time.Duration                                   // default 2 s
	ProbeEvery    time.Duration                                   // default 1 s; also a probe's timeout
	MaxBackends   int                                             // default 1024; below 0: none
	MaxRunning    int                                             // tasks at once; default 16,384
	Logger        *slog.Logger
}

func (c *Config) fill() {
	if c.Probe == nil {
		c.Probe = connect
	}
	if c.Lookup == nil {
		c.Lookup = net.DefaultResolver.LookupHost
	}
	if c.LaunchTimeout == 0 {
		c.LaunchTimeout = 2 * time.Second
	}
	if c.ProbeEvery == 0 {
		c.ProbeEvery = time.Second
	}
	if c.MaxBackends == 0 {
		c.MaxBackends = 1024
	}
	if c.MaxRunning == 0 {
		c.MaxRunning = 16_384
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// connect is the default probe: a process that accepts a connection is alive.
func connect(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Stats counts since the start.
type Stats struct {
	Registered uint64 // backends, first registrations
	Again      uint64 // registrations of a known socket
	Gone       uint64 // backends
	Launches   uint64 // launchTask calls
	Unknown    uint64 // reports of tasks that were never here
	Repeated   uint64 // reports of tasks that had ended already
	Rested     uint64 // how often a backend was offered no tasks for a while
}
