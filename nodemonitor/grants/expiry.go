package grants

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// sweep ends, until Close, the grants that were not fetched in time.
func (t *Table) sweep() {
	defer close(t.gone)
	tick := time.NewTicker(t.cfg.Fetch / 4)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.expire(now)
		case <-t.stop:
			return
		}
	}
}

// expire ends as lost the grants that have waited for too long. An executor that has
// left one unfetched gets no other before it polls again.
func (t *Table) expire(now time.Time) {
	t.update(func(e *ends) {
		for _, g := range t.grants { // they do not depend on each other
			if g.answered || now.Sub(g.began) < t.cfg.Fetch {
				continue
			}
			what := "no executor had room"
			if x := g.executor; x != nil {
				x.unresponsive = true
				what = "executor " + x.id + " did not fetch it"
			}
			t.stats.Lost++
			t.end(e, g, sched.Lost, t.reason(&g.task, fmt.Sprintf("%s within %v", what, t.cfg.Fetch), "nothing; it is tried again"))
		}
	})
}
