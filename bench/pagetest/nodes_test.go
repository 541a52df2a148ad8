package pagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// quiet is a cluster in which nothing happens, unless a test changes its nodes. Each has one slot.
type quiet struct {
	*made
	begin time.Time

	mu    sync.Mutex
	nodes []api.Node
}

func newQuiet(nodes int) *quiet {
	q := &quiet{made: small(), begin: time.Now()}
	for i := range nodes {
		q.nodes = append(q.nodes, api.Node{ID: fmt.Sprint("node-", i), Slots: 1, SlotUse: ".-", Up: true, State: api.StateUp})
	}
	return q
}

func (q *quiet) Nodes(context.Context) ([]api.MasterState, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := api.MasterState{Epoch: 1, Workers: len(q.nodes), Nodes: append([]api.Node(nil), q.nodes...)}
	for i := range s.Nodes {
		s.Nodes[i].StateSeconds = time.Since(q.begin).Seconds()
	}
	return []api.MasterState{s}, nil
}

// change changes the nodes.
func (q *quiet) change(with func(nodes []api.Node) []api.Node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nodes = with(q.nodes)
}

// The page shows for how long a node has been in its state, also while nothing else happens.
func TestPageOfAQuietClusterShowsForHowLong(t *testing.T) {
	t.Parallel()
	q := newQuiet(1)
	q.nodes[0].State, q.nodes[0].Up = api.StateUnreachable, false
	b := chromiumtest.Open(t, served(t, q), 1280, 1000)
	b.Await(live, whole)
	b.Click("#nodes-text summary")
	for _, selector := range []string{"#away li", "#nodes .row"} {
		b.Await(fmt.Sprintf(`document.querySelector(%q)?.textContent.match(/unreachable.* s/)`, selector), whole)
		b.Text(fmt.Sprintf(`window.first = document.querySelector(%q).textContent; 0`, selector))
		b.Await(fmt.Sprintf(`document.querySelector(%q).textContent !== first`, selector), `first`)
	}
}

// On a narrow screen the names of nodes can be told apart.
func TestNamesOfNodesOnANarrowScreen(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small()), 360, 740)
	b.Await(live, whole)
	b.Click("#nodes-text summary")
	b.Await(`document.querySelectorAll("#nodes [data-index]").length >= 4`, whole)
	if got := b.Text(`[...document.querySelectorAll("#nodes .row > :first-child")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent).join()`); got != "" {
		t.Errorf("the names %s are cut off", got)
	}
}
