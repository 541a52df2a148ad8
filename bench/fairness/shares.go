package fairness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Load is the work of one owner, all submitted at the start: enough that some waits until
// the end.
type Load struct {
	Owner    string
	Weight   float64
	Tasks    int
	Duration time.Duration // of each task
}

// SharesOptions describe owners that always have work. Either Tasks or Window is given.
type SharesOptions struct {
	Policy string
	Loads  []Load
	Tasks  int           // tasks of all owners together that are counted
	Window time.Duration // time in which use is counted
}

// SharesRun is what owners got that always had work.
type SharesRun struct {
	Owners  []OwnerPart // in the order of the loads
	Jain    float64     // Jain's index of the parts of the slots over the weights
	Counts  float64     // the same of the tasks that ended
	Worst   float64     // largest difference between an owner's part and its share, over its share
	Idle    float64     // part of the slots that ran nothing
	Seconds float64     // that were counted
}

// OwnerPart is what one owner got.
type OwnerPart struct {
	Owner string
	Share float64 // its weight over the sum of the weights
	Part  float64 // of the slot-seconds that all owners used
	Tasks int     // that ended
}

// warmUp is how many tasks end before anything is counted: all owners have submitted by then.
const warmUp = 20 * Slots

// Shares submits the loads and measures what each owner gets once all have submitted, until
// the given number of tasks have ended or the given time has passed.
func Shares(ctx context.Context, o SharesOptions) (r SharesRun, err error) {
	var file strings.Builder
	file.WriteString("shares:\n")
	for _, l := range o.Loads {
		fmt.Fprintf(&file, "  - {owner: %s, weight: %g}\n", l.Owner, l.Weight)
	}
	p, err := open(ctx, o.Policy, file.String())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	var keys []string
	for i := range o.Loads {
		l := &o.Loads[i]
		if err := p.submit(ctx, l, "0"); err != nil {
			return r, err
		}
		keys = append(keys, l.Owner+" 0")
	}
	if err := p.completed(ctx, warmUp+o.Tasks, keys...); err != nil {
		return r, err
	}
	if o.Window > 0 {
		const margin = 500 * time.Millisecond // the last results are in transit
		if !delay.For(ctx, o.Window+margin) {
			return r, context.Cause(ctx)
		}
	}
	list, err := p.finish()
	if err != nil {
		return r, err
	}
	return o.count(list)
}

// count returns what the owners got of the tasks that ran.
func (o *SharesOptions) count(list []attempt) (r SharesRun, err error) {
	ran := slices.DeleteFunc(list, func(a attempt) bool { return a.end < 0 })
	slices.SortStableFunc(ran, func(a, b attempt) int { return cmp.Compare(a.end, b.end) })
	if len(ran) < warmUp+max(o.Tasks, 1) {
		return r, fmt.Errorf("%d tasks ended, too few to count %d after the first %d", len(ran), o.Tasks, warmUp)
	}
	from, to := ran[warmUp].end, ran[warmUp].end+int64(o.Window)
	if o.Tasks > 0 {
		to = ran[warmUp+o.Tasks-1].end
	}
	used, tasks, ended := map[string]float64{}, map[string]int{}, map[string]int{}
	var all float64
	for _, a := range ran {
		ended[a.owner]++
		if s := min(a.end, to) - max(a.start, from); s > 0 {
			used[a.owner] += float64(s) / 1e9
			all += float64(s) / 1e9
		}
		if a.end >= from && a.end <= to {
			tasks[a.owner]++
		}
	}
	var weights float64
	for _, l := range o.Loads {
		weights += l.Weight
	}
	var parts, counts []float64
	for _, l := range o.Loads {
		if ended[l.Owner] >= l.Tasks-Slots {
			return r, fmt.Errorf("owner %s had too little work: its %d tasks ran; give it more", l.Owner, l.Tasks)
		}
		part := OwnerPart{Owner: l.Owner, Share: l.Weight / weights, Part: used[l.Owner] / all, Tasks: tasks[l.Owner]}
		r.Owners = append(r.Owners, part)
		r.Worst = max(r.Worst, math.Abs(part.Part-part.Share)/part.Share)
		parts, counts = append(parts, part.Part/l.Weight), append(counts, float64(part.Tasks)/l.Weight)
	}
	r.Seconds = float64(to-from) / 1e9
	r.Jain, r.Counts, r.Idle = measure.Jain(parts), measure.Jain(counts), 1-all/(r.Seconds*Slots)
	return r, nil
}
