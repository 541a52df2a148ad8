package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
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

// queueSentence returns in which order the tasks of a job wait that a master holds, and
// what would start them sooner, in the words of the policy.
func (p *plan) queueSentence(class string, g *api.GroupShare) string {
	w := sched.Waiting{
		Place: fmt.Sprintf("Group %d", g.Group), Queued: g.Queued, QueuedAll: [...]int{sched.Short: g.AheadShort, sched.Long: g.AheadLong},
		Workers: g.Serving, OldestWait: g.OldestWait,
	}
	if p.Central {
		w.Place = "The central master"
	}
	if class == sched.Long.String() {
		w.Class = sched.Long
	}
	return p.Explain(&w)
}
