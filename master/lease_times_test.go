package master

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A lease that is over is forgotten, also when no task ever waits: a master that serves many
// applications one after another keeps those of the last minutes. No notice is published for it.
func TestLeasesThatAreOver(t *testing.T) {
	clock := runloop.NewClock()
	r := newLeaseRevoker(wire.NewCodec(addrmap.New(), clock.Now), wire.Batch{Sender: addrmap.MasterRef(0)}, clock, slog.New(slog.DiscardHandler))
	published := 0
	r.publish = func([]byte) error { published++; return nil }
	for i := range 1000 {
		r.clock = r.clock.Ahead(longestLease / 10)
		r.launched(&sched.Message{App: fmt.Sprint("app", i), Class: sched.Short})
		if n := len(r.leases); n > 25 {
			t.Fatalf("%d leases are kept", n)
		}
	}
	waiting := &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, Attempt: 1, Count: 1, Class: sched.Short, App: "another"}
	r.revoke(waiting)
	if published != 1 || r.mayExist() {
		t.Errorf("published %d times, leases left: %v", published, r.leases)
	}
	r.launched(&sched.Message{App: "last", Class: sched.Short})
	r.clock = r.clock.Ahead(longestLease + sched.Second)
	r.revoke(waiting)
	if published != 1 || r.mayExist() {
		t.Errorf("of a lease that is over: published %d times, leases left: %v", published, r.leases)
	}
}
