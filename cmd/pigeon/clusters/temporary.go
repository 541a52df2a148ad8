package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// Temporary is a cluster that is on its hosts for as long as one run takes, in its own folder
// there. Make one with [StartTemporary]; call Close.
type Temporary struct {
	*Cluster
	run    string // name of the run, on the hosts
	folder string // here: the authority, the token, the fetched files
	token  string
	poll   time.Duration // between two looks at the daemons of a host
	failed chan error
	ended  chan struct{} // closed when the daemons are not watched any more
	watch  sync.WaitGroup

	mu      sync.Mutex
	claimed []*hosts.Host
	talks   map[*HostPlan]*hosts.Conversation
	closing sync.Once
}

// daemonsPoll is the time between two looks at the daemons of a host during a run.
const daemonsPoll = 2 * time.Second

// user is the name under which jobs are submitted.
const user = "replay"

// tokenLifetime is longer than any run.
const tokenLifetime = 30 * 24 * time.Hour

// StartTemporary starts the cluster of an inventory from [ForRun] and returns when all its daemons
// serve. After an error, which names the host, nothing is left there; the error names what could
// not be removed.
func StartTemporary(ctx context.Context, inv *hosts.Inventory, o Options) (t *Temporary, err error) {
	folder, err := os.MkdirTemp("", "pigeon-replay-")
	if err != nil {
		return nil, fmt.Errorf("the folder of the run: %w; nothing was started", err)
	}
	name, _ := os.Hostname() // it only tells users who started the run
	t = &Temporary{
		run: fmt.Sprintf("process %d of %s, begun %s", os.Getpid(), name, time.Now().UTC().Format(time.RFC3339)), folder: folder,
		poll: daemonsPoll, failed: make(chan error, 1), ended: make(chan struct{}), talks: map[*HostPlan]*hosts.Conversation{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if inv.Security == hosts.TLS {
		if t.token, _, err = tokens.Create(filepath.Join(folder, tokensFile), tokens.Order{User: user, Role: identity.Admin, Lifetime: tokenLifetime}, time.Now()); err != nil {
			return t, err
		}
	}
	p, err := Make(inv, folder, time.Now())
	if err != nil {
		return t, err
	}
	if t.Cluster, err = Open(p, o); err != nil {
		return t, err
	}
	t.each(ctx, p.Hosts, t.claim)
	if err := t.failure(); err != nil {
		return t, err
	}
	if err := t.Apply(ctx); err != nil {
		return t, err
	}
	return t, t.attend()
}

// attend opens the conversations with the hosts and watches their daemons. The watchers read the
// conversations, so they start when all are open.
func (t *Temporary) attend() error {
	first := make([]answer, len(t.plan.Hosts))
	for i, p := range t.plan.Hosts {
		at := pathsOf(p.Host)
		words := []string{at.program(), "cluster", "answer", at.run()}
		for _, s := range p.Services {
			page := map[hosts.Role]int{hosts.Master: masterHTTP, hosts.Frontend: frontendHTTP, hosts.Node: nodeHTTP}[s.Role]
			address := ""
			if page != 0 {
				address = local(p.Host, page)
			}
			words = append(words, s.Unit+"="+address)
		}
		talk, err := t.remote.Talk(p.Host, strings.Join(words, " "))
		if err != nil {
			return err
		}
		t.talks[p] = talk
		if first[i], err = t.ask(p, askDaemons); err != nil {
			return err
		}
	}
	for i, p := range t.plan.Hosts {
		t.watch.Go(func() { t.watchHost(p, first[i]) })
	}
	return nil
}

// watchHost looks at the daemons of a host until the cluster is closed; the first that is not the
// process that it was ends the run.
func (t *Temporary) watchHost(p *HostPlan, first answer) {
	tick := time.NewTicker(t.poll)
	defer tick.Stop()
	for {
		select {
		case <-t.ended:
			return
		case <-tick.C:
		}
		now, err := t.ask(p, askDaemons)
		for i := range first.Daemons {
			if err == nil && now.Daemons[i].Pid != first.Daemons[i].Pid {
				err = t.died(p, i)
			}
		}
		select {
		case <-t.ended:
			return
		default:
		}
		if err != nil {
			select {
			case t.failed <- err:
			default: // another one came first
			}
			return
		}
	}
}

// died returns the error of a daemon that ended by itself, with the end of its log.
func (t *Temporary) died(p *HostPlan, service int) error {
	s := p.Services[service]
	log, err := t.remote.Run(context.Background(), p.Host, "reading the log of its "+s.Role.Verb(), commands{p.Host}.log(s), nil)
	if err != nil {
		log = err.Error()
	}
	return &api.Error{
		Problem: api.Internal, What: "its " + s.Role.Verb() + " ended; the end of its log: " + log, Subject: fmt.Sprintf("host %q", p.Host.Name), Tried: "replaying",
		Next: "correct that and replay again; nothing of the run is left on the hosts",
	}
}

func (t *Temporary) ask(p *HostPlan, question string) (a answer, err error) {
	line, err := t.talks[p].Ask("asking for its "+question, question)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return a, fmt.Errorf("host %q answered %.200q: %w", p.Host.Name, line, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("host %q: %s", p.Host.Name, a.Error)
	}
	return a, nil
}

// Clocks reads the clocks of all hosts, one after another, in the order of the inventory.
func (t *Temporary) Clocks() (list []Clock, err error) {
	for _, p := range t.plan.Hosts {
		c, err := readClock(func() (time.Time, error) {
			a, err := t.ask(p, askClock)
			return time.Unix(0, a.Now), err
		}, time.Now)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Names returns the names of the hosts in the order of the inventory.
func (t *Temporary) Names() (list []string) {
	for _, p := range t.plan.Hosts {
		list = append(list, p.Host.Name)
	}
	return list
}

// Frontends returns where clients reach the frontends, host:port, in the order of the inventory.
func (t *Temporary) Frontends() []string { return frontendsOf(t.plan.Inventory) }

// Failed receives the error of the first daemon that ended, or host that does not answer any more.
func (t *Temporary) Failed() <-chan error { return t.failed }

// Security returns how the frontends are called.
func (t *Temporary) Security() (client.Security, error) {
	if t.token == "" {
		return client.Security{}, nil
	}
	ca := filepath.Join(t.folder, authorityFolder, authority.CAFile)
	creds, err := credentials.Open(credentials.Options{Cluster: t.plan.Inventory.Cluster, CA: ca})
	if err != nil {
		return client.Security{}, err
	}
	s := creds.To(identity.Frontend, "")
	s.Token = func() (string, error) { return t.token, nil }
	return s, nil
}

// Read returns what all daemons have used of their hosts since their start, and how many core
// messages they have sent.
func (t *Temporary) Read(context.Context) (u cluster.Usage, messages int64, err error) {
	for _, p := range t.plan.Hosts {
		a, err := t.ask(p, askUse)
		if err != nil {
			return u, 0, err
		}
		for _, d := range a.Daemons {
			u.CPU += time.Duration(d.CPU)
			u.RSSMax += d.RSSMax
			messages += int64(d.Messages) //nolint:gosec // a count
		}
	}
	return u, messages, nil
}

// Histories stops the frontends, which completes their histories, and copies these. ahead are the
// clocks of the hosts as Clocks returns them. The files are removed by Close.
func (t *Temporary) Histories(ctx context.Context, ahead []Clock) ([]replay.HistoryFile, error) {
	t.unwatch()
	files := make([]replay.HistoryFile, len(t.plan.Hosts))
	var g errgroup.Group
	g.SetLimit(t.opts.Parallel)
	for i, p := range t.plan.Hosts {
		s := serviceOf(p.Services, hosts.Frontend)
		if s == nil {
			continue
		}
		g.Go(func() error {
			if _, err := t.remote.Run(ctx, p.Host, "stopping its frontend", commands{p.Host}.stop(*s), nil); err != nil {
				return err
			}
			files[i] = replay.HistoryFile{Path: filepath.Join(t.folder, "history-"+p.Host.Name+".jsonl"), Ahead: ahead[i].Ahead}
			f, err := os.Create(files[i].Path)
			if err != nil {
				return err
			}
			return errors.Join(t.fetch(ctx, p.Host, historyOf(p.Host), f), f.Close())
		})
	}
	err := g.Wait()
	var list []replay.HistoryFile
	for _, f := range files {
		if f.Path != "" {
			list = append(list, f)
		}
	}
	return list, err
}

// unwatch ends the watching of the daemons, whose end is expected from now on.
func (t *Temporary) unwatch() {
	t.closing.Do(func() { close(t.ended) })
	t.watch.Wait()
}

// Close ends everything of the run on the hosts and removes it, and the folder here. The error names
// the hosts on which something is left. A second call does nothing.
func (t *Temporary) Close() error {
	t.unwatch()
	for p, talk := range t.talks {
		_ = talk.Close() // it never fails
		delete(t.talks, p)
	}
	var err error
	if t.Cluster != nil {
		err = errors.Join(clearAll(context.Background(), t.remote, t.claimed, t.opts.Parallel), t.Cluster.Close())
		t.Cluster, t.claimed = nil, nil
	}
	return errors.Join(err, os.RemoveAll(t.folder))
}

// clearAll clears hosts; one that fails keeps no other from it.
func clearAll(ctx context.Context, r *hosts.Remote, list []*hosts.Host, parallel int) error {
	var g errgroup.Group
	g.SetLimit(max(parallel, 1))
	faults := make([]error, len(list))
	for i, h := range list {
		g.Go(func() error { faults[i] = clearHost(ctx, r, h); return nil })
	}
	_ = g.Wait() // the work returns none
	return errors.Join(faults...)
}

// ClearTemporary removes leftovers of runs from the hosts of an inventory.
func ClearTemporary(ctx context.Context, inv *hosts.Inventory, parallel int) (err error) {
	own, err := placed(inv)
	if err != nil {
		return err
	}
	r, err := hosts.OpenRemote(own)
	if err != nil {
		return err
	}
	var list []*hosts.Host
	for i := range own.Hosts {
		list = append(list, &own.Hosts[i])
	}
	return errors.Join(clearAll(ctx, r, list, parallel), r.Close(list))
}
