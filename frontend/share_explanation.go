package frontend

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// shownAhead bounds the owners that an explanation lists as served before a job's owner,
// and namedAhead those that its sentence names.
const (
	shownAhead = 10
	namedAhead = 3
)

// explainShares adds to the explanation of an unfinished job what its owner is entitled to,
// what it has used, and which owners are served before it: in the groups where its tasks wait,
// or in all when none waits. Where no other owner wants slots it adds something only when a limit
// keeps tasks waiting.
func explainShares(e *api.Explanation, groups []api.GroupOwners, views []wire.JobView) {
	waits := map[int]bool{}
	for i := range views {
		if s := &views[i].Share; s.Queued > 0 {
			waits[s.Group] = true
		}
	}
	var counted []api.GroupOwners
	slots := 0
	for i := range groups {
		if g := &groups[i]; g.Fair && (len(waits) == 0 || waits[g.Group]) {
			counted = append(counted, *g)
			slots += g.Slots
		}
	}
	t := shareTree{limits: limitsIn(counted), owners: api.SumOwners(counted), slots: slots, owner: e.Status.Owner}
	t.long = e.Status.Class == sched.Long.String()
	if o := t.find(t.owner); o != nil && o.QueuedShort == 0 && o.QueuedLong > 0 {
		t.long = true // masters have found out that its tasks are long
	}
	if len(t.owners) == 0 {
		return
	}
	levels, ahead := t.levels()
	if !t.shared() && (len(waits) == 0 || t.limited(levels) == nil) {
		return
	}
	e.Owners, e.Ahead = levels, ahead
	if sentence := t.sentence(e.Owners, e.Ahead, len(waits) > 0); sentence != "" {
		e.Why = append(e.Why, sentence)
	}
	e.Ahead = e.Ahead[:min(len(e.Ahead), shownAhead)]
}

// shareTree holds the owners of some groups, as one of these owners sees them.
type shareTree struct {
	limits map[string]limits
	owners []api.OwnerShare // of all groups, each after its parent, the whole first
	slots  int
	long   bool // its job waits among long tasks
	owner  string
}

// wants returns the tasks of an owner that run or wait.
func wants(o *api.OwnerShare) int {
	return o.RunningShort + o.RunningLong + o.QueuedShort + o.QueuedLong
}

func (t *shareTree) find(path string) *api.OwnerShare {
	if i := slices.IndexFunc(t.owners, func(o api.OwnerShare) bool { return o.Owner == path }); i >= 0 {
		return &t.owners[i]
	}
	return nil
}

// shared reports whether others besides the owner want slots.
func (t *shareTree) shared() bool {
	if t.owner == "" {
		return len(t.owners) > 1
	}
	own := 0
	if o := t.find(t.owner); o != nil {
		own = wants(o)
	}
	return wants(&t.owners[0]) > own
}

// lead returns by how many slot-seconds an owner is ahead, and how many of its tasks wait, of
// the job's class.
func (t *shareTree) lead(o *api.OwnerShare) (lead float64, waiting int) {
	if t.long {
		return o.LeadLong, o.QueuedLong
	}
	return o.LeadShort, o.QueuedShort
}

// limits tells where the limits of an owner count.
type limits struct {
	wait     int // groups in which tasks of the owner wait
	atMax    int // of those, the ones in which it is at its max,
	belowMin int // and in which it has less than its min
}

// limitsIn compares the limits of all owners with what they run in each group, as its master does.
func limitsIn(groups []api.GroupOwners) map[string]limits {
	all := map[string]limits{}
	for i := range groups {
		g := &groups[i]
		for k := range g.Owners {
			o := &g.Owners[k]
			if o.QueuedShort+o.QueuedLong == 0 {
				continue
			}
			l := all[o.Owner]
			l.wait++
			if atMax(o, g.Slots) {
				l.atMax++
			}
			if belowMin(o, g.Slots) {
				l.belowMin++
			}
			all[o.Owner] = l
		}
	}
	return all
}

// atMax reports whether an owner has as many of a group's workers as its max allows.
func atMax(o *api.OwnerShare, workers int) bool {
	return o.Max > 0 && o.RunningShort+o.RunningLong >= shares.MostOf(o.Max, workers)
}

// belowMin reports whether an owner has fewer of a group's workers than its min.
func belowMin(o *api.OwnerShare, workers int) bool {
	return o.RunningShort+o.RunningLong < shares.LeastOf(o.Min, workers)
}

// isBefore reports whether another owner of the same level is served before one: its tasks wait, no
// max keeps them waiting, and it is less ahead, or has less than its min.
func (t *shareTree) isBefore(other, o *api.OwnerShare) bool {
	theirs, waiting := t.lead(other)
	its, own := t.limits[other.Owner], t.limits[o.Owner]
	if waiting == 0 || its.wait == its.atMax {
		return false
	}
	if (its.belowMin > 0) != (own.belowMin > 0) {
		return its.belowMin > 0
	}
	lead, _ := t.lead(o)
	return theirs < lead
}

// levels returns the levels of the owner, and the owners of these levels that are served
// before it, the first first.
func (t *shareTree) levels() (levels, ahead []api.OwnerShare) {
	above := ""
	for level := range strings.SplitSeq(t.owner, "/") {
		path := strings.TrimPrefix(above+"/"+level, "/")
		o := t.find(path)
		if o == nil || path == "" {
			break
		}
		levels = append(levels, *o)
		from := len(ahead)
		for i := range t.owners {
			other := &t.owners[i]
			if other.Owner != "" && other.Owner != path && parentOf(other.Owner) == above && t.isBefore(other, o) {
				ahead = append(ahead, *other)
			}
		}
		slices.SortStableFunc(ahead[from:], func(a, b api.OwnerShare) int {
			leadA, _ := t.lead(&a)
			leadB, _ := t.lead(&b)
			return cmp.Compare(leadA, leadB)
		})
		above = path
	}
	return levels, ahead
}

func parentOf(owner string) string { return owner[:max(0, strings.LastIndexByte(owner, '/'))] }

// limit is a max that keeps tasks waiting.
type limit struct {
	owner *api.OwnerShare // of all groups
	limits
}

// limited returns the first level that is at its max in all groups where its tasks wait, or else the
// first that is so in one of them; nil when none is.
func (t *shareTree) limited(levels []api.OwnerShare) (first *limit) {
	for i := range levels {
		l := &limit{&levels[i], t.limits[levels[i].Owner]}
		if l.atMax > 0 && (first == nil || l.atMax == l.wait) {
			first = l
		}
		if first != nil && first.atMax == first.wait {
			break
		}
	}
	return first
}

// sentence describes the owner's share, and which owners are served before it if its tasks
// wait.
func (t *shareTree) sentence(levels, ahead []api.OwnerShare, waits bool) string {
	if len(levels) == 0 {
		others := 0
		for i := range t.owners[1:] {
			if o := &t.owners[1+i]; !strings.Contains(o.Owner, "/") && wants(o) > 0 {
				others++
			}
		}
		name := "nobody in particular"
		if t.owner != "" {
			name = strconv.Quote(t.owner)
		}
		return fmt.Sprintf("Its owner is %s, which shares %s with %s.", name, sched.Count(t.slots, "slot", "slots"), sched.Count(others, "owner", "owners"))
	}
	o := &levels[len(levels)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "Its owner %q is entitled to %.1f of %s and has %d; it has used %.1f s of slots for short tasks and %.1f s for long ones.",
		o.Owner, o.Entitled, sched.Count(t.slots, "slot", "slots"), o.RunningShort+o.RunningLong, o.UsedShort, o.UsedLong)
	if !waits {
		return b.String()
	}
	switch l := t.limited(levels); {
	case l == nil:
	case l.atMax == l.wait:
		fmt.Fprintf(&b, " Owner %q has as many slots as its max of %g%% allows: more of its tasks start when some of them end.", l.owner.Owner, 100*l.owner.Max)
		return b.String()
	default:
		fmt.Fprintf(&b, " In %d of the %d groups where its tasks wait, owner %q has as many slots as its max of %g%% allows.", l.atMax, l.wait, l.owner.Owner, 100*l.owner.Max)
	}
	if len(ahead) == 0 {
		b.WriteString(" No other owner is served before it.")
		return b.String()
	}
	for i := range levels {
		if lead, _ := t.lead(&levels[i]); lead > 0 {
			fmt.Fprintf(&b, " Owner %q has used %.1f s more than its share allows.", levels[i].Owner, lead)
		}
	}
	var names []string
	for i := range ahead[:min(len(ahead), namedAhead)] {
		a := &ahead[i]
		_, waiting := t.lead(a)
		names = append(names, fmt.Sprintf("%q (weight %g, %d of %.1f slots, %d waiting)", a.Owner, a.Weight, a.RunningShort+a.RunningLong, a.Entitled, waiting))
	}
	fmt.Fprintf(&b, " %s served before it: %s", sched.Count(len(ahead), "owner is", "owners are"), strings.Join(names, ", "))
	if len(ahead) > namedAhead {
		b.WriteString(", ...")
	}
	b.WriteString(".")
	return b.String()
}
