package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// observer takes samples of what the daemons report about themselves.
type observer struct {
	c         *cluster.Cluster
	fleet     fleet
	frontends []*wire.SchedulerClient
	calm      atomic.Bool // all is healed: look more often

	mu         sync.Mutex
	slots      []history.Slot
	groups     []history.Group
	footprints []history.Footprint
	stall      time.Duration
}

// run takes samples until ctx ends.
func (o *observer) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, v := range o.fleet.daemons() {
		all.Go(func() {
			for round := 0; delay.For(ctx, time.Second); round++ {
				o.footprint(ctx, v, round%5 == 0)
				if v.role == cluster.NodeMonitor {
					o.node(ctx, v)
				}
			}
		})
	}
	for i := range o.frontends {
		all.Go(func() {
			for delay.For(ctx, o.pause()) {
				o.groupsOf(ctx, i)
			}
		})
	}
	all.Go(func() { o.late(ctx) })
	all.Wait()
}

func (o *observer) pause() time.Duration {
	if o.calm.Load() {
		return 250 * time.Millisecond
	}
	return 2 * time.Second
}

// late measures by how much this program is late itself, once all is healed.
func (o *observer) late(ctx context.Context) {
	const tick = 50 * time.Millisecond
	for before := Now(); delay.For(ctx, tick); before = Now() {
		if o.calm.Load() {
			o.mu.Lock()
			o.stall = max(o.stall, time.Duration(Now()-before)-tick)
			o.mu.Unlock()
		}
	}
}

func (o *observer) footprint(ctx context.Context, v victim, goroutines bool) {
	pid := o.c.Pid(v.role, v.number)
	rss, descriptors, err := memoryOf(pid)
	if pid == 0 || err != nil {
		return
	}
	f := history.Footprint{Time: Now(), Daemon: o.c.Name(v.role, v.number), Role: string(v.role), Pid: pid, RSS: rss, Descriptors: descriptors}
	if goroutines && v.role != cluster.NATS {
		f.Goroutines = goroutinesOf(ctx, o.c.HTTP(v.role, v.number))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.footprints = append(o.footprints, f)
}

// get calls read with a page of a daemon that answers.
func get(ctx context.Context, url string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	q.Close = true // the daemon may be killed before the next request
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return read(answer.Body)
}

// goroutinesOf returns 0 when it is not known.
func goroutinesOf(ctx context.Context, at string) (n int) {
	_ = get(ctx, "http://"+at+"/metrics", func(r io.Reader) error { // a daemon may not run
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
				n, _ = strconv.Atoi(value) // 0
			}
		}
		return lines.Err()
	})
	return n
}

// nodeStatus has the fields that are read of a node's /status.
type nodeStatus struct {
	Incarnation int64  `json:"incarnation"`
	Epoch       uint64 `json:"epoch"`
	Slots       []struct {
		Slot     int    `json:"slot"`
		Seq      uint64 `json:"seq"`
		Reserved bool   `json:"reserved"`
		Job      string `json:"job"`
		Task     int    `json:"task"`
		Attempt  int    `json:"attempt"`
		Request  *struct {
			Job string `json:"job"`
		} `json:"request"`
	} `json:"slots"`
}

// node asks a node for its slots, and returns false when it does not answer.
func (o *observer) node(ctx context.Context, v victim) bool {
	var s nodeStatus
	if err := get(ctx, "http://"+o.c.HTTP(v.role, v.number)+"/status", func(r io.Reader) error { return json.NewDecoder(r).Decode(&s) }); err != nil {
		return false // it does not run, or is paused
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, slot := range s.Slots {
		o.slots = append(o.slots, history.Slot{
			Time: Now(), Node: o.c.Name(v.role, v.number), Incarnation: s.Incarnation, Epoch: s.Epoch, Slot: slot.Slot, Seq: slot.Seq,
			Reserved: slot.Reserved, Job: slot.Job, Task: slot.Task, Attempt: slot.Attempt, Asks: slot.Request != nil,
		})
	}
	return true
}

// groupsOf asks a frontend for the groups, and returns false when one of the workers is missing
// or not idle, or it does not answer.
func (o *observer) groupsOf(ctx context.Context, frontend int) (idle bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	groups, err := o.frontends[frontend].Nodes(ctx)
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range groups {
		g := &groups[i]
		o.groups = append(o.groups, history.Group{
			Time: Now(), Frontend: frontend, Group: g.Group, Workers: g.Workers, Idle: g.IdleGeneral + g.IdleReserved, Busy: g.BusyGeneral + g.BusyReserved,
			IdleGeneral: g.IdleGeneral, IdleReserved: g.IdleReserved, QueuedShort: g.QueuedShort, QueuedLong: g.QueuedLong,
		})
	}
	return allIdle(groups, o.fleet.workers())
}

// allIdle reports whether the groups are those that are expected, with all of their workers, which
// are idle, and no task waits.
func allIdle(groups []api.MasterState, workers map[int]int) bool {
	return len(groups) == len(workers) && !slices.ContainsFunc(groups, func(g api.MasterState) bool {
		return g.Workers == 0 || g.Workers != workers[g.Group] || g.IdleGeneral+g.IdleReserved != g.Workers || g.QueuedShort+g.QueuedLong != 0
	})
}

// last takes samples until every worker is there and idle and none asks, or the patience is over,
// and leaves those of the last round as the end.
func (o *observer) last(ctx context.Context, patience time.Duration) (done int64) {
	for end := Now() + patience.Nanoseconds(); ; {
		done = Now()
		if o.round(ctx) || Now() > end || !delay.For(ctx, 500*time.Millisecond) {
			return done
		}
	}
}

// round takes samples of everything, and returns false when one is missing, or a worker is missing,
// not idle or asks for a task.
func (o *observer) round(ctx context.Context) (idle bool) {
	from := Now()
	idle = true
	for i := range frontends {
		at := o.groupsOf(ctx, i)
		for standby := i + frontends; standby < len(o.frontends); standby += frontends {
			at = o.groupsOf(ctx, standby) || at
		}
		idle = at && idle
	}
	for _, v := range o.fleet.daemons() {
		if v.role == cluster.NodeMonitor {
			idle = o.node(ctx, v) && idle
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return idle && !slices.ContainsFunc(o.slots, func(s history.Slot) bool { return s.Time >= from && (s.Job != "" || s.Asks) })
}
