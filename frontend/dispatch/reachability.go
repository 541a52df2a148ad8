package dispatch

import (
	"strconv"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// reachability records since when the hellos to a master have, or have not, been answered. It is
// shown to users; nothing is decided by it. It may be called from anywhere.
type reachability struct {
	mu      sync.Mutex
	since   time.Time
	problem string // of the last hello, "" when it was answered
	version string // of the master's binary, as it stated it last
}

func newReachability() *reachability {
	return &reachability{since: time.Now(), problem: "it has not answered yet"}
}

// answered notes the outcome of a hello; version is that of the master that answered.
func (r *reachability) answered(version string, err error) {
	problem := api.Reason(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if (problem == "") != (r.problem == "") {
		r.since = time.Now()
	}
	r.problem = problem
	if err == nil {
		r.version = version
	}
}

// state returns the state of a master that did not answer a query, which is why.
func (r *reachability) state(group int, address string, why error) *api.DaemonState {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &api.DaemonState{Name: strconv.Itoa(group), Address: address, State: api.StateUnreachable, Reason: r.problem, Version: r.version}
	if r.problem == "" { // it answered the last hello
		d.Reason = api.Reason(why)
	} else {
		d.StateSeconds = time.Since(r.since).Seconds()
	}
	return d
}
