package master

import (
	"context"
	"errors"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Daemon is a master that continues when it has lost the leadership of its group: as a new
// Master at the same addresses, which waits as a standby. Of the former one only the shares that
// were read last are kept.
//
//	Master ──LeadershipError──▶ another Master ──LeadershipError──▶ ...
//	  └──any other end──▶ the end of the daemon
//
// Its methods may be called from any goroutine.
type Daemon struct {
	cfg  Config
	deps Deps

	mu   sync.Mutex
	now  *Master
	file string // of ReadSharesFrom
	load func() (Config, error)
	sent uint64 // messages of those before
}

// NewDaemon returns a master as New does. Run, or Close, must follow.
func NewDaemon(cfg Config, deps Deps) (*Daemon, error) {
	m, err := NewWith(cfg, deps)
	if err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, deps: deps, now: m}
	d.cfg.Listen = m.Addr() // a free port, if that was asked for, stays the same
	if at := m.HTTP(); at != "" {
		d.cfg.HTTP = at
	}
	return d, nil
}

func (d *Daemon) current() *Master {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// Run serves until ctx is done and returns when everything that it started has ended. The
// error is what ended it before; losing the leadership is none.
func (d *Daemon) Run(ctx context.Context) error {
	for {
		m := d.current()
		err := m.Run(ctx)
		lost, _ := errors.AsType[*LeadershipError](err)
		switch {
		case !replaced(err):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was to stop in any case
		}
		m.log.Warn("another master takes the place of this one, with nothing of what it held", "error", lost.Reason)
		if err := d.again(m); err != nil {
			return errors.Join(err, lost)
		}
	}
}

// replaced reports whether another master takes the place of one that ended with this error.
func replaced(err error) bool {
	_, lost := errors.AsType[*LeadershipError](err)
	return lost
}

// again makes the master that follows one that has ended.
func (d *Daemon) again(before *Master) error {
	m, err := after(before, d.cfg, d.deps)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.load != nil {
		m.ReadSharesFrom(d.file, d.load)
	}
	d.sent += before.Messages()
	d.now = m
	return nil
}

// ReadSharesFrom and Reload are as those of [Master].
func (d *Daemon) ReadSharesFrom(file string, load func() (Config, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.file, d.load = file, load
	d.now.ReadSharesFrom(file, load)
}

// Reload requests that the shares be read again, as [Master.Reload] does.
func (d *Daemon) Reload() bool { return d.current().Reload() }

// Close frees what NewDaemon opened when Run was never called.
func (d *Daemon) Close() error { return d.current().Close() }

// Ready is closed when the daemon serves, as leader or standby.
func (d *Daemon) Ready() <-chan struct{} { return d.current().Ready() }

// Addr returns where frontends and node monitors reach the daemon, host:port.
func (d *Daemon) Addr() string { return d.current().Addr() }

// HTTP returns where the status page is served, "" when it is off.
func (d *Daemon) HTTP() string { return d.current().HTTP() }

// Leads reports whether the daemon leads its group.
func (d *Daemon) Leads() bool { return d.current().standing.leads() }

// MasterState returns the state of the group, as [Master.MasterState] does.
func (d *Daemon) MasterState(ctx context.Context) (api.MasterState, error) {
	return d.current().MasterState(ctx)
}

// Messages counts the messages that its cores have sent to others.
func (d *Daemon) Messages() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sent + d.now.Messages()
}
