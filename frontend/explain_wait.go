package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/policy/fifo"
	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/policy/kairos"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// waitSentences returns what the masters hold of an unfinished job and what it waits
// for there.
func (p *plan) waitSentences(s *api.Status, views []wire.JobView) []string {
	queued := 0
	for i := range views {
		queued += views[i].Share.Queued
	}
	counts := fmt.Sprintf("%d of %d tasks have ended, %d run, %d wait in queues.", s.Completed+s.Failed, s.Tasks, s.Running, queued)
	if p.NewMaster == nil {
		counts = fmt.Sprintf("%d of %d tasks have ended, %d are at workers.", s.Completed+s.Failed, s.Tasks, s.Running)
	}
	why := []string{counts}
	for i := range views {
		g := &views[i].Share
		switch {
		case !g.Reachable && p.Central:
			why = append(why, "The central master cannot be reached; what it held is sent to it again when it is back.")
		case !g.Reachable:
			why = append(why, fmt.Sprintf("The master of group %d cannot be reached; what it held is distributed again when it stays away.", g.Group))
		case g.Queued > 0:
			why = append(why, p.queueSentence(s.Class, g))
		}
	}
	return why
}

// queueSentence says in which order the tasks of a job wait that a master holds, and
// what would start them sooner.
func (p *plan) queueSentence(class string, g *api.GroupShare) string {
	switch p.Name {
	case hawk.Name, eagle.Name:
		return fmt.Sprintf("%d of its tasks wait in the queues of the workers that the central master has assigned them to, those with the least work by the estimates. More general workers would start them sooner.", g.Queued)
	case fifo.Name:
		return fmt.Sprintf("%d of its tasks wait among %d at the central master, in order of arrival; all %d workers are busy. The oldest waits %.3f s.", g.Queued, g.AheadShort+g.AheadLong, g.Serving, g.OldestWait)
	case kairos.Name:
		return fmt.Sprintf("%d of its tasks wait among %d at the central master, in order of arrival: every node has as many tasks, running and suspended, as it takes.", g.Queued, g.AheadShort+g.AheadLong)
	}
	where := fmt.Sprintf("Group %d", g.Group)
	if p.Central {
		where = "The central master"
	}
	order := "first come, first served"
	if p.Name == pigeon.NameSort || p.Name == pigeon.NameX {
		order = "those of the job with the least work left first"
	}
	if class == sched.Long.String() {
		return fmt.Sprintf("%s: %d of its tasks wait among %d long ones; long tasks run on general workers only, none of which is idle, and %d short tasks there may go first. More workers, or fewer short jobs, would start them sooner.",
			where, g.Queued, g.AheadLong, g.AheadShort)
	}
	return fmt.Sprintf("%s: %d of its tasks wait among %d short ones, %s; all %d workers that serve it are busy. The oldest waits %.3f s.",
		where, g.Queued, g.AheadShort, order, g.Serving, g.OldestWait)
}
