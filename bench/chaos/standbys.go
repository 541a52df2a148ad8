package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// natsLost kills one NATS server, or two at the same time.
func (in *injector) natsLost(ctx context.Context, p planned, f *history.Fault) error {
	if p.peer == (victim{}) {
		return in.killed(ctx, p)
	}
	f.Peer = in.name(p.peer)
	second := p
	second.of = p.peer
	other := make(chan error, 1)
	go func() { other <- in.killed(ctx, second) }()
	err := in.killed(ctx, p)
	return errors.Join(err, <-other)
}

// leaderCut cuts the master that leads off from all other daemons, with half of its nodes.
func (in *injector) leaderCut(ctx context.Context, p planned, f *history.Fault) error {
	cut := func(in *injector, ctx context.Context, p planned) error {
		f.Peer = "*"
		nodes := in.fleet.nodesOf(p.of.number / (1 + in.fleet.standbys))
		heal := in.hosts.network.Add(network.Rule{Cut: true}, in.hosts.around(append(nodes[:len(nodes)/2], p.of)))
		delay.For(ctx, p.lasts)
		heal()
		return nil
	}
	return ofLeader(cut)(in, ctx, p, f)
}

// lose ends a daemon with its disk; another machine, or a new disk, takes its place.
func (in *injector) lose(ctx context.Context, p planned) error {
	if !in.take(p.of) {
		return errNotRunning
	}
	if err := in.c.Lose(p.of.role, p.of.number); err != nil {
		in.hold(p.of, false)
		return err
	}
	delay.For(ctx, p.lasts)
	in.restart(p.of)
	return nil
}

// rolling stops every daemon in order and starts it again, one after another, and records the
// stops. A daemon that does not run just now is left out.
func (in *injector) rolling(ctx context.Context, _ planned, f *history.Fault) error {
	f.Victim = "*"
	for _, v := range in.fleet.daemons() {
		if in.held(v) || ctx.Err() != nil {
			continue
		}
		from := Now()
		if to, err := in.stopped(ctx, planned{of: v, lasts: 0}); err == nil { // else it has ended by itself
			f.Stops = append(f.Stops, history.DaemonStop{Daemon: in.name(v), From: from, To: to})
		}
		delay.For(ctx, betweenStops)
	}
	return nil
}

// betweenStops is the time from a restart to the next stop of a rolling restart.
const betweenStops = 500 * time.Millisecond

var errNoLeader = errors.New("no master of the group says that it leads")

// leader returns the master that leads a group, by its status page.
func (in *injector) leader(ctx context.Context, group int) (victim, error) {
	for _, v := range in.fleet.mastersOf(group) {
		var status struct {
			Role string `json:"role"`
		}
		err := get(ctx, "http://"+in.c.HTTP(v.role, v.number)+"/status", func(r io.Reader) error { return json.NewDecoder(r).Decode(&status) })
		if err == nil && status.Role == "leader" {
			return v, nil
		}
	}
	return victim{cluster.Master, 0}, errNoLeader
}

// halfSpeed is by how many thousandths the clock of a leader is slow.
const halfSpeed = 500

// slowClock makes the clock of a leadership run slowly. A process that is started again has
// the right one.
func (in *injector) slowClock(ctx context.Context, p planned) error {
	pid := in.c.Pid(p.of.role, p.of.number)
	if pid == 0 {
		return errNotRunning
	}
	path := filepath.Join(in.walls, strconv.Itoa(pid)+cluster.SlowClockSuffix)
	set := func(thousandths int) error {
		if err := os.WriteFile(path+".new", []byte(strconv.Itoa(thousandths)), 0o644); err != nil {
			return fmt.Errorf("the clock of %s cannot be set: %w", in.name(p.of), err)
		}
		return os.Rename(path+".new", path) // the process reads it at any time
	}
	if err := set(halfSpeed); err != nil {
		return err
	}
	delay.For(ctx, p.lasts)
	return set(0)
}
