package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FloodOwner is the name of the owner that floods.
const FloodOwner = "flood"

// MaxOwners bounds the owners of a workload.
const MaxOwners = 100_000

// Owners assigns jobs to owners. The owner of a job is drawn from (seed, key) alone, except
// that enough short jobs flood to make the share.
type Owners struct {
	// Count is the number of owners. They are called o1, o2, ...; one that floods is the last
	// of them and is called flood.
	Count int `json:"count"`
	// Skew is the exponent of the Zipf distribution: owner k submits a job with a probability
	// in proportion to 1/k^Skew. 0 is equal.
	Skew float64 `json:"skew"`
	// Flood is the share of all work of short jobs that one owner submits. It submits
	// nothing else. 0: none floods.
	Flood float64 `json:"flood"`
	// Burst is the number of tasks that the flood comes in: its jobs wait for each
	// other until they have this many tasks, and then arrive together.
	Burst int `json:"burst"`
	// Absent leaves the jobs of the flood out. All others are as with them.
	Absent bool `json:"absent"`
	// Priorities is the number of priorities, from 0, that are drawn for jobs; 0 and 1: none is
	// drawn.
	Priorities int `json:"priorities,omitempty"`
}

// ParseOwners reads N[,skew=1][,flood=0.5][,burst=1000][,absent=true][,priorities=3].
func ParseOwners(text string) (*Owners, error) {
	count, rest, _ := strings.Cut(text, ",")
	s := parseSpec("assign jobs to --owners", text, "owners="+count+","+rest)
	o := &Owners{
		Count: s.whole("owners", 1, 1, MaxOwners), Skew: s.number("skew", 0, 0, 10), Flood: s.number("flood", 0, 0, 1),
		Burst: s.whole("burst", 1000, 1, MaxTasks), Absent: s.flag("absent"), Priorities: s.whole("priorities", 1, 1, 1000),
	}
	switch {
	case s.err() != nil:
		return nil, s.failed
	case o.Flood > 0 && o.Count < 2:
		s.failf("one owner cannot flood others; give 2 or more")
	case o.Flood == 0 && (o.Absent || s.find("burst") != nil):
		s.failf("burst and absent describe the flood, and there is none; add flood=0.5")
	}
	return o, s.failed
}

// Assign gives every job an owner, and moves the jobs of the one that floods into bursts.
// Jobs keep their keys. A nil o changes nothing.
func (w *Workload) Assign(o *Owners, seed uint64) *Workload {
	out := w.with()
	if o == nil {
		return out
	}
	calm := o.Count
	if o.Flood > 0 {
		calm--
	}
	below := zipf(calm, o.Skew)
	lots := make([]float64, len(out.Jobs)) // the jobs with the lowest flood
	for i := range out.Jobs {
		draw := newRand(seed, streamOwners<<32+uint64(out.Jobs[i].Line)) //nolint:gosec // a line number
		pick := draw.Float64()
		lots[i] = draw.Float64()
		if o.Priorities > 1 {
			out.Jobs[i].Priority = int32(draw.IntN(o.Priorities)) //nolint:gosec // at most 1000
		}
		k, _ := slices.BinarySearchFunc(below, pick, func(x, pick float64) int {
			if x > pick {
				return 1
			}
			return -1
		})
		out.Jobs[i].Owner = fmt.Sprintf("o%d", min(k, calm-1)+1)
	}
	out.flood(o.Flood, lots)
	if o.Absent {
		out.Jobs = slices.DeleteFunc(out.Jobs, func(j Job) bool { return j.Owner == FloodOwner })
		return out
	}
	out.gather(o.Burst)
	return out
}

// flood gives the short jobs with the lowest lots to the owner that floods, until their work is the
// share of that of all short jobs.
func (w *Workload) flood(share float64, lots []float64) {
	var short []int
	work := 0.0
	for i := range w.Jobs {
		if !w.Jobs[i].TrueLong {
			short = append(short, i)
			work += float64(w.Jobs[i].Work())
		}
	}
	slices.SortFunc(short, func(a, b int) int { return cmp.Compare(lots[a], lots[b]) })
	sum := 0.0
	for _, i := range short {
		if sum >= share*work {
			return
		}
		sum += float64(w.Jobs[i].Work())
		w.Jobs[i].Owner = FloodOwner
	}
}

// zipf returns the cumulative probabilities of owners 1 to n.
func zipf(n int, skew float64) []float64 {
	below, sum := make([]float64, n), 0.0
	for k := range below {
		sum += exp(-skew * ln(float64(k+1)))
		below[k] = sum
	}
	for k := range below {
		below[k] /= sum
	}
	return below
}

// gather makes the jobs of the flood arrive in bursts: each when the last of the
// jobs of its burst would have arrived.
func (w *Workload) gather(burst int) {
	var waiting []int
	tasks := 0
	for i := range w.Jobs {
		if w.Jobs[i].Owner != FloodOwner {
			continue
		}
		waiting = append(waiting, i)
		if tasks += len(w.Jobs[i].Durations); tasks >= burst {
			w.arriveTogether(waiting)
			waiting, tasks = waiting[:0], 0
		}
	}
	if len(waiting) > 0 {
		w.arriveTogether(waiting)
	}
	slices.SortStableFunc(w.Jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
}

func (w *Workload) arriveTogether(jobs []int) {
	at := w.Jobs[jobs[len(jobs)-1]].Arrival
	for _, i := range jobs {
		w.Jobs[i].Arrival = at
	}
}

// Owners returns the owners of the jobs, sorted; none when no job has one.
func (w *Workload) Owners() (names []string) {
	seen := map[string]bool{}
	for i := range w.Jobs {
		if o := w.Jobs[i].Owner; !seen[o] {
			seen[o] = true
			names = append(names, o)
		}
	}
	if len(names) == 1 && names[0] == "" {
		return nil
	}
	slices.Sort(names)
	return names
}
