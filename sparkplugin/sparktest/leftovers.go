package sparktest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Leftovers waits until nothing of the ended applications is left, and returns an error
// that lists the rest when the time is over: processes of executors, grants, busy slots,
// applications that frontends serve, folders.
func (c *Cluster) Leftovers(within time.Duration) error {
	return poll(within, c.leftovers)
}

func (c *Cluster) leftovers() (left error) {
	for _, p := range c.processes() {
		left = errors.Join(left, fmt.Errorf("process %s", p))
	}
	for i := range c.daemons.Frontends() {
		list, err := c.Applications(i)
		left = errors.Join(left, err)
		for _, a := range list {
			left = errors.Join(left, fmt.Errorf("application %s at frontend %d, %s", a.ID, i, a.State))
		}
	}
	for i, name := range c.nodes {
		s, err := c.Status(i)
		if err != nil {
			left = errors.Join(left, err)
			continue
		}
		if s.Busy() > 0 || s.Grants.Held > 0 || s.Grants.Waiting > 0 || s.Memory.Used > 0 {
			left = errors.Join(left, fmt.Errorf("on node %s: %d busy slots %+v, grants %+v, %d MB", name, s.Busy(), s.Slots, s.Grants, s.Memory.Used))
		}
		for _, x := range s.Executors {
			left = errors.Join(left, fmt.Errorf("executor %s of %s on node %s, %s", x.ID, x.App, name, x.State))
		}
		folders, err := filepath.Glob(filepath.Join(c.applications(name), "*"))
		left = errors.Join(left, err)
		for _, f := range folders {
			left = errors.Join(left, fmt.Errorf("folder %s", f))
		}
	}
	return errors.Join(left, c.idle())
}

// idle checks with the masters, through a frontend: slots that the nodes have freed
// must be free for them too, and no node may be missing.
func (c *Cluster) idle() error {
	pool, err := client.New(client.Options{Name: "frontend 0", Address: c.Frontends()[0]})
	if err != nil {
		return err
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	masters, err := wire.NewSchedulerClient(pool).Nodes(ctx)
	if err != nil {
		return fmt.Errorf("the masters cannot be asked: %w", err)
	}
	nodes := 0
	for i := range masters {
		m := &masters[i]
		if queued, busy := m.QueuedShort+m.QueuedLong, m.BusyGeneral+m.BusyReserved; queued+busy > 0 {
			err = errors.Join(err, fmt.Errorf("at master %d: %d queued, %d of %d workers busy", m.Group, queued, busy, m.Workers))
		}
		nodes += len(m.Nodes)
	}
	if nodes != len(c.nodes) {
		err = errors.Join(err, fmt.Errorf("the masters have %d of %d nodes", nodes, len(c.nodes)))
	}
	return err
}

// applications returns the folder in which a node keeps those of applications.
func (c *Cluster) applications(node string) string {
	return filepath.Join(c.dir, "work", node, "applications")
}

// final ends a poll: waiting longer cannot help.
type final struct{ error }

// pollEvery is the pause between two checks of other processes.
const pollEvery = 100 * time.Millisecond

// poll repeats a check until it succeeds or the time is over.
func poll(within time.Duration, check func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(within); ; <-tick.C {
		err := check()
		if err == nil {
			return nil
		}
		if _, over := errors.AsType[final](err); over || time.Now().After(deadline) {
			return err
		}
	}
}
