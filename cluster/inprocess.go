package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/listener"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// inProcess is a cluster in this process.
type inProcess struct {
	c       *Cluster
	nats    *notice.Embedded
	guard   *guard.Client // of all nodes: one small process starts all exec tasks
	tiers   [3]tier       // in the order in which they are stopped
	fronts  []*frontend.Frontend
	places  []Place  // of the nodes
	daemons []daemon // in the order of their start
	metrics telemetry.Instances
}

// tier is the daemons of one role.
type tier struct {
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	err     error // of daemons that did not stop cleanly
}

const (
	nodeTier = iota
	frontendTier
	masterTier
)

func newInProcess(c *Cluster) *inProcess {
	p := &inProcess{c: c}
	for i := range p.tiers {
		t := &p.tiers[i]
		t.ctx, t.stop = context.WithCancel(context.Background()) //nolint:fatcontext // one for each, none in another
	}
	return p
}

type daemon interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
	Messages() uint64
	Gatherer() prometheus.Gatherer
}

// run runs a daemon; id is its name among the metrics, name the one in errors.
func (p *inProcess) run(tier int, id, name string, d daemon) {
	t := &p.tiers[tier]
	p.daemons = append(p.daemons, d)
	p.metrics = append(p.metrics, telemetry.Instance{Name: id, Gatherer: d.Gatherer()})
	t.running.Go(func() {
		err := d.Run(t.ctx)
		if t.ctx.Err() == nil {
			p.c.fail(fmt.Errorf("%s ended by itself: %w", name, errors.Join(err, childproc.ErrUnasked)))
			return
		}
		t.mu.Lock()
		t.err = errors.Join(t.err, err)
		t.mu.Unlock()
	})
}

func (p *inProcess) start(ctx context.Context) (err error) {
	s, at := &p.c.spec, &p.c.places
	if !s.WithoutNATS {
		if p.nats, err = notice.StartEmbedded("127.0.0.1:0"); err != nil {
			return err
		}
		at.nats = p.nats.URL()
	}
	if err := p.startMasters(); err != nil {
		return err
	}
	p.guard = guard.New(guard.Options{MaxRunning: s.nodes() * max(nodemonitor.Default().MaxProcesses, s.Slots), Log: s.Log})
	if s.StartGuard {
		p.guard.StartGuard()
	}
	for g, size := range s.Groups {
		for k := range size {
			cfg := s.node(*at, g, k, "127.0.0.1")
			n, err := nodemonitor.New(cfg, nodemonitor.Deps{Log: s.Log, Guard: p.guard})
			if err != nil {
				return fmt.Errorf("node %d of group %d: %w", k, g, err)
			}
			p.places = append(p.places, Place{Node: cfg.ID, Address: n.Addrs().Listen})
			p.run(nodeTier, cfg.ID, fmt.Sprintf("node %d of group %d", k, g), n)
		}
	}
	// Frontends connect to masters every second: a master that has its nodes by then
	// reports at once what it serves.
	if err := p.await(ctx); err != nil {
		return err
	}
	for i := range s.Frontends {
		cfg := s.frontend(*at, i)
		f, err := frontend.New(cfg, s.Log)
		if err != nil {
			return fmt.Errorf("frontend %d: %w", i, err)
		}
		p.fronts = append(p.fronts, f)
		p.run(frontendTier, cfg.ID, fmt.Sprintf("frontend %d", i), f)
	}
	return p.await(ctx)
}

// startMasters starts them on free ports. Where masters send tasks to each other they
// are configured with all addresses, so the ports are chosen first.
func (p *inProcess) startMasters() (err error) {
	s, at := &p.c.spec, &p.c.places
	groups := len(s.masters())
	listen := slices.Repeat([]string{"127.0.0.1:0"}, groups)
	if s.crossGroup() {
		reserved, err := listener.Reserve(groups)
		if err != nil {
			return err
		}
		defer reserved.Release() // when they listen
		for g := range listen {
			listen[g] = reserved.Take()
		}
		at.masters = listen
	}
	var opened []string
	for g := range groups {
		m, err := master.New(s.master(*at, g, listen[g], s.http()), s.Log)
		if err != nil {
			return fmt.Errorf("master of group %d: %w", g, err)
		}
		p.run(masterTier, masterName(g, 0), fmt.Sprintf("master of group %d", g), m)
		opened = append(opened, m.Addr())
	}
	at.masters = opened
	return nil
}

// await waits until all daemons started so far are ready.
func (p *inProcess) await(ctx context.Context) error {
	for _, d := range p.daemons {
		select {
		case <-d.Ready():
		case err := <-p.c.failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (p *inProcess) frontends() []string {
	list := make([]string, len(p.fronts))
	for i, f := range p.fronts {
		list[i] = f.Addr()
	}
	return list
}

func (p *inProcess) web() []string {
	list := make([]string, len(p.fronts))
	for i, f := range p.fronts {
		list[i] = f.HTTP()
	}
	return list
}

func (p *inProcess) gatherer() prometheus.Gatherer { return p.metrics }

func (p *inProcess) backends() []Place { return p.places }

var errOneProcess = errors.New("daemons that share this process cannot be killed one by one; use the isolation process")

func (p *inProcess) stop() (err error) {
	for i := range p.tiers {
		t := &p.tiers[i]
		t.stop()
		t.running.Wait()
		err = errors.Join(err, t.err)
	}
	if p.guard != nil {
		p.guard.Close(0)
	}
	if p.nats != nil {
		err = errors.Join(err, p.nats.Close())
	}
	return err
}

func (p *inProcess) usage() (Usage, error) { return OwnUsage() }
