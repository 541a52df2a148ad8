package quotas

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// held counts the bytes of the jobs that have not ended, in all, by holder and by submitter.
type held struct {
	bytes      int64
	holders    map[string]*holding // none is empty
	submitters map[string]*holding // likewise, by the proven name
	most       string              // describes the holder of the most
	asOf       time.Time
}

// holding is what one holder has.
type holding struct {
	bytes int64
	jobs  int
	tasks int
}

var _ jobs.Observer = (*Table)(nil)

// Observe counts the jobs that have not ended, those of applications' levels too.
func (t *Table) Observe(c jobs.Change) {
	switch c.Kind {
	case jobs.Added, jobs.Restored, jobs.Granted:
		r := &c.Job.Submission.Request
		h := t.Add(r.Owner, len(r.Tasks), c.Job.Submission.Bytes)
		h.holder, h.submitter, h.all = holderOf(r), r.Submitter, h.amount
		t.held.add(h, 1)
		t.jobs[c.Job] = h
	case jobs.GrantEnded:
		t.jobs[c.Job].TaskEnded()
	case jobs.Recorded, jobs.Replayed:
		if c.Ends() {
			t.jobs[c.Job].TaskEnded()
		}
	case jobs.Ended, jobs.Forgotten:
		if h := t.jobs[c.Job]; h != nil {
			h.Release()
			t.held.add(h, -1)
			delete(t.jobs, c.Job)
		}
	default:
	}
}

// mostEvery is how long the description of the holder of the most is used again, because
// it is looked for among all of them and refusals may be many.
const mostEvery = time.Second

// holderOf returns the name of the holder of a job.
func holderOf(r *api.Request) string {
	switch {
	case r.App != "":
		return fmt.Sprintf("application %q", r.App)
	case r.User != "":
		return fmt.Sprintf("user %q", r.User)
	default:
		return "submitters without a name"
	}
}

// add counts a job, or subtracts it again: sign is 1 or -1.
func (h *held) add(j *Holding, sign int) {
	h.bytes += int64(sign) * j.all.bytes
	change(h.holders, j.holder, &j.all, sign)
	change(h.submitters, j.submitter, &j.all, sign)
}

func change(list map[string]*holding, who string, a *amount, sign int) {
	g := list[who]
	if g == nil {
		g = &holding{}
		list[who] = g
	}
	g.bytes, g.jobs, g.tasks = g.bytes+int64(sign)*a.bytes, g.jobs+sign, g.tasks+sign*a.tasks
	if g.jobs == 0 {
		delete(list, who)
	}
}

// HeldBy returns what the unfinished jobs of a submitter hold.
func (t *Table) HeldBy(submitter string) (bytes int64, tasks int) {
	if g := t.held.submitters[submitter]; g != nil {
		return g.bytes, g.tasks
	}
	return 0, 0
}

// HeldBytes returns roughly how many bytes the unfinished jobs hold.
func (t *Table) HeldBytes() int64 { return t.held.bytes }

// HoldsMost describes the holder of the most of these bytes, as of a moment ago.
func (t *Table) HoldsMost() string {
	h := &t.held
	if now := time.Now(); h.asOf.IsZero() || now.Sub(h.asOf) >= mostEvery {
		h.asOf, h.most = now, h.describeMost()
	}
	return h.most
}

func (h *held) describeMost() string {
	most, name := holding{}, ""
	for who, g := range h.holders {
		if name == "" || g.bytes > most.bytes || g.bytes == most.bytes && who < name {
			most, name = *g, who
		}
	}
	if name == "" {
		return "no unfinished job holds any"
	}
	return fmt.Sprintf("%s holds the most, %d bytes in %d unfinished jobs", name, most.bytes, most.jobs)
}
