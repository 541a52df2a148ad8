package jobs

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// held counts the bytes of the jobs that have not ended, in all, by holder and by submitter.
type held struct {
	bytes      int64
	holders    map[string]*holding // none is empty
	submitters map[string]*holding // likewise, by the proven name
	quotas     *quotas.Table
	most       string // describes the holder of the most
	asOf       time.Time
}

// holding is what one holder has.
type holding struct {
	bytes int64
	jobs  int
	tasks int
}

// add counts a job of that many bytes and tasks, or subtracts it again: sign is 1 or -1.
func (h *holding) add(sign int, bytes int64, tasks int) {
	h.bytes, h.jobs, h.tasks = h.bytes+int64(sign)*bytes, h.jobs+sign, h.tasks+sign*tasks
}

// of returns the holding of who, a new one if who holds nothing.
func of(list map[string]*holding, who string) *holding {
	g := list[who]
	if g == nil {
		g = &holding{}
		list[who] = g
	}
	return g
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

// add counts a job.
func (h *held) add(j *Job) {
	j.bytes, j.holder = j.Submission.Bytes, holderOf(&j.Submission.Request)
	h.bytes += j.bytes
	of(h.holders, j.holder).add(1, j.bytes, j.Status.Tasks)
	of(h.submitters, j.Status.Submitter).add(1, j.bytes, j.Status.Tasks)
	j.quota = h.quotas.Add(j.Submission.Request.Owner, len(j.Submission.Request.Tasks), j.bytes)
}

// remove undoes add. It may be called twice.
func (h *held) remove(j *Job) {
	j.quota.Release()
	if j.holder == "" || h.holders[j.holder] == nil {
		return
	}
	h.bytes -= j.bytes
	h.take(h.holders, j.holder, j)
	h.take(h.submitters, j.Status.Submitter, j)
	j.bytes, j.holder = 0, ""
}

// take subtracts a job from its holder.
func (*held) take(list map[string]*holding, who string, j *Job) {
	g := of(list, who)
	if g.add(-1, j.bytes, j.Status.Tasks); g.jobs == 0 {
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

// Quotas returns the counts of the unfinished jobs by owner.
func (t *Table) Quotas() *quotas.Table { return t.held.quotas }

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
