package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/listener"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// stopWithin bounds how long the processes of a role may take to stop before
// they are killed. A node needs a second to deliver its last results.
const stopWithin = 8 * time.Second

// processes is a cluster of processes.
type processes struct {
	c       *Cluster
	group   *childproc.Group
	ports   *listener.Reservation // nil before they were taken
	members map[Role][]*member
	fronts  []string // host:port
	status  []string // where frontends serve HTTP
}

func newProcesses(c *Cluster) *processes {
	return &processes{c: c, group: childproc.NewGroup(), members: map[Role][]*member{}}
}

// start starts the daemons, each tier after those that it calls, and waits until all are ready.
func (p *processes) start(ctx context.Context) error {
	s, at := &p.c.spec, &p.c.places
	for _, sub := range []string{"logs", "config"} {
		if err := os.MkdirAll(filepath.Join(at.dir, sub), 0o700); err != nil {
			return err
		}
	}
	masters := len(s.masters()) * (1 + s.MasterStandbys)
	needed := 2*s.NATSServers + masters + 3*s.frontends()
	if s.HTTP {
		needed += masters + s.nodes()
	}
	var err error
	if p.ports, err = listener.Reserve(needed); err != nil {
		return err
	}
	for _, tier := range []func() error{p.addNATS, p.addMasters, p.addNodes, p.addFrontends} {
		if err := tier(); err != nil {
			return err
		}
	}
	return p.await(ctx)
}

// take returns an address at which a daemon can listen.
func (p *processes) take(r Role, i int) string { return p.c.spec.at(r, i, p.ports.Take()) }

func (p *processes) addNATS() (err error) {
	if p.c.spec.WithoutNATS {
		return nil
	}
	at := &p.c.places
	var servers [][]string
	if at.nats, servers, err = p.c.spec.natsServers(at, p.take); err != nil {
		return err
	}
	for i, args := range servers {
		name := "nats"
		if len(servers) > 1 {
			name = natsName(i)
		}
		if err := p.add(NATS, daemonSpec{name: name, folders: []string{natsFolder(at.dir, i)}}, args...); err != nil {
			return err
		}
	}
	return nil
}

// addMasters adds the masters of all groups, which know the addresses of each other.
func (p *processes) addMasters() error {
	s, at := &p.c.spec, &p.c.places
	groups, each := len(s.masters()), 1+s.MasterStandbys
	listens := make([]string, groups*each)
	for i := range listens {
		listens[i] = p.take(Master, i)
	}
	for of := range slices.Chunk(listens, each) {
		at.masters = append(at.masters, strings.Join(of, "/"))
	}
	for i := range listens {
		g, which := s.groupOf(i)
		c := s.master(*at, g, listens[i], "")
		if s.HTTP {
			c.HTTP = p.take(Master, i)
		}
		if err := addConfigured(p, Master, daemonSpec{name: masterName(g, which), http: c.HTTP}, c, master.Default()); err != nil {
			return err
		}
	}
	return nil
}

func (p *processes) addNodes() error {
	s, at := &p.c.spec, &p.c.places
	number := 0
	for g, size := range s.Groups {
		for k := range size {
			host := fmt.Sprintf("127.0.%d.%d", g+1, k+1)
			if s.Network != nil {
				host = s.Network.Host(NodeMonitor, number)
			}
			c := s.node(*at, g, k, host)
			if c.HTTP != "" {
				c.HTTP = p.take(NodeMonitor, number)
			}
			number++
			if err := addConfigured(p, NodeMonitor, daemonSpec{name: c.ID, http: c.HTTP, folders: []string{c.WorkDir}}, c, nodemonitor.Default()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *processes) addFrontends() error {
	s, at := &p.c.spec, &p.c.places
	for i := range s.frontends() {
		c := s.frontend(*at, i%s.Frontends)
		if i >= s.Frontends {
			c.Data += "-standby"
			if s.History {
				c.History = historyFile(at.dir, i)
			}
		}
		c.Listen, c.InternalListen, c.HTTP = p.take(Frontend, i), p.take(Frontend, i), p.take(Frontend, i)
		p.fronts, p.status = append(p.fronts, c.Listen), append(p.status, c.HTTP)
		if err := addConfigured(p, Frontend, daemonSpec{name: s.frontendName(i), http: c.HTTP, folders: []string{c.Data}}, c, frontend.Default()); err != nil {
			return err
		}
	}
	return nil
}

// daemonSpec is the name of a daemon, the address of its status page, and the folders that
// are gone with its machine.
type daemonSpec struct {
	name, http string
	folders    []string
}

// addConfigured starts a daemon with its own configuration file.
func addConfigured[T any](p *processes, r Role, d daemonSpec, c, defaults T) error {
	path := filepath.Join(p.c.places.dir, "config", d.name+".yaml")
	f, err := files.OpenPrivate(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	write := config.Write[T]
	if len(p.c.spec.Command) > 0 { // the program may be of another version
		write = config.WriteChanged[T]
	}
	if err := errors.Join(write(f, "Settings of "+d.name+" of a cluster on one machine.", c, defaults), f.Close()); err != nil {
		return err
	}
	return p.add(r, d, "--config", path)
}

// pollEvery is the pause between two requests to processes that start.
const pollEvery = 20 * time.Millisecond

// await waits until every frontend reports that it is ready and every master has
// all its nodes.
func (p *processes) await(ctx context.Context) error {
	for i := range p.c.spec.Frontends {
		if err := p.poll(ctx, func() error {
			_, err := p.leading(ctx, i)
			return err
		}); err != nil {
			return fmt.Errorf("frontend %d: %w; its log is %s", i, err, p.members[Frontend][i].command.Log)
		}
	}
	return p.poll(ctx, func() error {
		groups, err := p.nodes(ctx)
		if err != nil {
			return err
		}
		for g := range groups {
			if have, want := len(groups[g].Nodes), p.c.spec.masters()[g]; have < want {
				return fmt.Errorf("the master of group %d has %d of its %d nodes; the logs are in %s", g, have, want, filepath.Join(p.c.places.dir, "logs"))
			}
		}
		return nil
	})
}

// nodes asks the process that leads the first frontend for the nodes of all groups.
func (p *processes) nodes(ctx context.Context) ([]api.MasterState, error) {
	leads, err := p.leading(ctx, 0)
	if err != nil {
		return nil, err
	}
	security, err := p.c.Security()
	if err != nil {
		return nil, err
	}
	pool, err := client.New(client.Options{Name: "frontend 0", Address: p.fronts[leads], Security: security})
	if err != nil {
		return nil, err
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	return wire.NewSchedulerClient(pool).Nodes(ctx)
}

// leading returns the number of the process that is ready under the name of a frontend: of
// the first or of its standby.
func (p *processes) leading(ctx context.Context, name int) (i int, err error) {
	for i = name; i < len(p.status); i += p.c.spec.Frontends {
		e := readyz(ctx, p.status[i])
		if e == nil {
			return i, nil
		}
		err = errors.Join(err, e)
	}
	return 0, err
}

// poll repeats a request until it succeeds.
func (p *processes) poll(ctx context.Context, request func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := request()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case failure := <-p.c.failed:
			if err := p.startAgain(failure); err != nil {
				return err
			}
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func readyz(ctx context.Context, at string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
	if err != nil {
		return err
	}
	q.Close = true // requests are rare
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if answer.StatusCode != http.StatusOK {
		why, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return errors.Join(fmt.Errorf("not ready: %s %s", answer.Status, why), err)
	}
	return nil
}

func (p *processes) frontends() []string { return p.fronts }
func (p *processes) web() []string       { return p.status }

func (p *processes) gatherer() prometheus.Gatherer { return nil }

func (p *processes) backends() []Place { return nil }

// stop ends the roles one after another: nodes hand their results to frontends
// that are still there.
func (p *processes) stop() (err error) {
	for _, r := range []Role{NodeMonitor, Frontend, Master, NATS} {
		for _, m := range p.members[r] {
			m.stop()
		}
		deadline := time.Now().Add(stopWithin)
		for _, m := range p.members[r] {
			err = errors.Join(err, m.awaitStop(deadline))
		}
	}
	p.group.Close(stopWithin)
	if p.ports != nil {
		p.ports.Release()
	}
	return err
}
