package dispatch

import (
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// unboundCore is a distributor all of whose jobs have an unbound task, for which it sends a
// reservation when the job is submitted and when it is to probe again.
type unboundCore struct {
	sched.DistributorCore // nil: only what is declared here is called
	reprobed              []sched.JobID
}

func (c *unboundCore) Step(_ sched.Time, _ sched.Addr, m *sched.Message, _ *sched.Actions) {
	if m.Kind == sched.Members && m.Resent && m.More == nil {
		c.reprobed = append(c.reprobed, m.Job)
	}
}

func (c *unboundCore) JobView(sched.JobID, int) (sched.JobView, bool) {
	return sched.JobView{Late: true, Unbound: 1}, true
}

// jobNames has the names of jobs for the log.
type jobNames struct{ Jobs }

func (jobNames) Name(id sched.JobID) string { return id.String() }

// A job that is submitted after a change of the membership, whose reservations a worker with
// an older membership dropped, is probed for again; a job submitted later is not in doubt.
func TestSubmissionAfterAChangeIsInDoubt(t *testing.T) {
	e := newApplying(t)
	core := &unboundCore{}
	e.opts.Core, e.opts.Jobs, e.opts.Metrics = core, jobNames{}, NewMetrics(telemetry.NewMetrics("frontend"))
	e.opts.ReprobeAfter, e.opts.DoubtFor = time.Hour, time.Hour
	before, after, later := sched.JobID{Lo: 1}, sched.JobID{Lo: 2}, sched.JobID{Lo: 3}
	r := e.reservations
	r.sent(before) // no membership has been applied: no worker has an older one
	if r.of(before).Stale() {
		t.Error("a job is stale, and the membership has not changed")
	}
	e.applyMembership(wire.Membership{Incarnation: 7, Version: 1})
	r.sent(after)
	r.changed = r.changed.Add(-2 * e.opts.DoubtFor)
	r.sent(later)
	for id, want := range map[sched.JobID]bool{before: true, after: true, later: false} {
		if got := r.of(id).Stale(); got != want {
			t.Errorf("job %d is stale: %v, want %v", id.Lo, got, want)
		}
	}
	r.reprobeOverdue()
	if len(core.reprobed) != 0 {
		t.Fatalf("probed again for %v before it was overdue", core.reprobed)
	}
	for _, id := range []sched.JobID{before, after, later} {
		r.jobs[id].last = time.Now().Add(-2 * time.Hour)
	}
	r.reprobeOverdue()
	if !slices.Equal(core.reprobed, []sched.JobID{before, after}) {
		t.Errorf("probed again for %v, want those of the change and just after it", core.reprobed)
	}
}
