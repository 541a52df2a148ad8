// Package natsservertest starts clusters of NATS servers in tests.
package natsservertest

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
)

// Cluster is servers with JetStream.
type Cluster struct {
	t       testing.TB
	Options []natsserver.Options
	Servers []*natsserver.Server // nil where one is stopped
}

// Start starts a server, or a cluster of several, until the end of the test. change may change the
// options of each.
func Start(t testing.TB, servers int, change ...func(*natsserver.Options)) *Cluster {
	t.Helper()
	c := StartSome(t, servers, servers, change...)
	c.AwaitPeers(servers)
	return c
}

// StartSome starts the first of the servers of a cluster.
func StartSome(t testing.TB, servers, first int, change ...func(*natsserver.Options)) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Options: options(t, servers, change), Servers: make([]*natsserver.Server, servers)}
	t.Cleanup(func() {
		for i := range c.Servers {
			c.Stop(i)
		}
	})
	for i := range first {
		c.Start(i)
	}
	return c
}

// Start starts a server that is stopped, with its data.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	s, err := natsserver.Start(c.Options[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.Servers[i] = s
}

// Stop stops a server, unless it is stopped.
func (c *Cluster) Stop(i int) {
	c.t.Helper()
	if c.Servers[i] == nil {
		return
	}
	if err := c.Servers[i].Close(); err != nil {
		c.t.Error(err)
	}
	c.Servers[i] = nil
}

// AwaitPeers waits until the given number of servers know each other and have a leader for their
// streams.
func (c *Cluster) AwaitPeers(n int) {
	c.t.Helper()
	if len(c.Servers) == 1 {
		return
	}
	await.Until(c.t, fmt.Sprintf("%d servers of a cluster have a leader", n), func() bool {
		leaders := 0
		for _, s := range c.Servers {
			if s != nil && s.Server().JetStreamIsLeader() && len(s.Server().JetStreamClusterPeers()) >= n {
				leaders++
			}
		}
		return leaders == 1
	})
}

// URL returns the URLs of all servers.
func (c *Cluster) URL() string { return urls(c.Options) }
