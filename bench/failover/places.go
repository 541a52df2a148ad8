package failover

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// The daemons of a cluster that failures happen to.
const (
	natsServers = 3
	masters     = 2
	frontends   = 2 // with the standby
)

// hosts gives every daemon a host of the network. Host 0 is this program's.
type hosts struct{ n *network.Network }

func (h hosts) number(r cluster.Role, i int) int {
	before := map[cluster.Role]int{cluster.NATS: 0, cluster.Master: natsServers, cluster.Frontend: natsServers + masters, cluster.NodeMonitor: natsServers + masters + frontends}
	return 1 + before[r] + i
}

// Host returns the address of a daemon's host.
func (h hosts) Host(r cluster.Role, i int) string { return h.n.Address(h.number(r, i)) }

// Command returns the command that runs another one there.
func (h hosts) Command(r cluster.Role, i int, argv []string) []string {
	return h.n.Command(h.number(r, i), argv)
}

// leader returns which of the first count daemons of a role leads, by its status page.
func (w *world) leader(ctx context.Context, r cluster.Role, count int) (int, error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && delay.For(ctx, 50*time.Millisecond); {
		for i := range count {
			if at := w.c.HTTP(r, i); r == cluster.Frontend && answers(ctx, "http://"+at+"/readyz") || r != cluster.Frontend && leads(ctx, at) {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("no %s says for 10 s that it leads", r)
}

// answers reports whether a page is there.
func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answer, err := get(ctx, url)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // it is not read
	return answer.StatusCode == http.StatusOK
}

func get(ctx context.Context, url string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	q.Close = true // the daemon may be killed before the next request
	return http.DefaultClient.Do(q)
}

// leads reports whether a daemon reports that it leads.
func leads(ctx context.Context, at string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answer, err := get(ctx, "http://"+at+"/status")
	if err != nil {
		return false
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	var status struct {
		Role string `json:"role"`
	}
	return json.NewDecoder(answer.Body).Decode(&status) == nil && status.Role == "leader"
}
