package jobs

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// held counts the bytes of the jobs that have not ended, in all and by holder.
type held struct {
	bytes   int64
	holders map[string]*holding // none is empty
	quotas  *quotas.Table
	most    string // describes the holder of the most
	asOf    time.Time
}

// holding is what one holder has.
type holding struct {
	bytes int64
	jobs  int
}

// mostEvery is how long the description of the holder of the most is used again, because
// it is looked for among all of them and refusals may be many.
const mostEvery = time.Second

// holderOf returns who is named as the holder of a job.
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

// add counts a job.
func (h *held) add(j *Job) {
	who := holderOf(&j.Submission.Request)
	g := h.holders[who]
	if g == nil {
		g = &holding{}
		h.holders[who] = g
	}
	j.bytes, j.holder = j.Submission.Bytes, who
	g.bytes, g.jobs, h.bytes = g.bytes+j.bytes, g.jobs+1, h.bytes+j.bytes
	j.quota = h.quotas.Add(j.Submission.Request.Owner, len(j.Submission.Request.Tasks), j.bytes)
}

// remove undoes add. It may be called twice.
func (h *held) remove(j *Job) {
	j.quota.Release()
	g := h.holders[j.holder]
	if j.holder == "" || g == nil {
		return
	}
	g.bytes, g.jobs, h.bytes = g.bytes-j.bytes, g.jobs-1, h.bytes-j.bytes
	if g.jobs == 0 {
		delete(h.holders, j.holder)
	}
	j.bytes, j.holder = 0, ""
}

// HeldBytes returns roughly how many bytes the unfinished jobs hold.
func (t *Table) HeldBytes() int64 { return t.held.bytes }

// Quotas returns the counts of the unfinished jobs by owner.
func (t *Table) Quotas() *quotas.Table { return t.held.quotas }

// HoldsMost describes who holds the most of these bytes, as of a moment ago.
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
