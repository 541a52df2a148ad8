package app

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// run is one attempt in a backend. The registry's lock guards it.
type run struct {
	task    backend.Task
	done    func(backend.Result)
	home    *process
	started time.Time
	killed  bool
}

// names is what a report always carries.
type names struct{ job, task string }

// table finds runs by attempt and by the names in a report, and remembers the
// names of the last ends.
type table struct {
	byID   map[sched.AttemptID]*run
	byName map[names][]*run // nearly always one
	recent map[names]int    // how often in last
	last   []names          // ring of the last ends
	next   int
	closed map[names]int // launches that ended with a closed connection
}

// remembered bounds the ended runs whose repeated report is recognised as such.
const remembered = 4096

func newTable() *table {
	return &table{
		byID: make(map[sched.AttemptID]*run), byName: make(map[names][]*run),
		recent: make(map[names]int), last: make([]names, 0, remembered), closed: map[names]int{},
	}
}

func (r *run) names() names { return names{r.task.JobName, r.task.TaskName} }

func (t *table) add(r *run) {
	t.byID[r.task.ID] = r
	t.byName[r.names()] = append(t.byName[r.names()], r)
}

func (t *table) remove(r *run) {
	n := r.names()
	delete(t.byID, r.task.ID)
	rest := t.byName[n][:0]
	for _, o := range t.byName[n] {
		if o != r {
			rest = append(rest, o)
		}
	}
	if t.byName[n] = rest; len(rest) == 0 {
		delete(t.byName, n)
	}
	t.remember(n)
}

func (t *table) remember(n names) {
	t.recent[n]++
	if len(t.last) < remembered {
		t.last = append(t.last, n)
		return
	}
	old := t.last[t.next]
	if t.recent[old]--; t.recent[old] == 0 {
		delete(t.recent, old)
	}
	t.last[t.next] = n
	t.next = (t.next + 1) % remembered
}

// find returns the run that a report from the worker names; an empty worker stands for
// any. Between equal names, which two applications may use, the application and then the
// frontend decide, then the earliest start.
func (t *table) find(ref TaskRef, worker string) *run {
	var best *run
	most := -1
	for _, r := range t.byName[names{ref.Job, ref.Task}] {
		if worker != "" && worker != r.home.address || ref.Scope != "" && ref.Scope != api.AppScope(r.task.App) {
			continue
		}
		score := 0
		if ref.App == r.task.App {
			score += 2
		}
		if ref.Frontend == r.task.Frontend {
			score++
		}
		if score > most {
			best, most = r, score
		}
	}
	return best
}

// closedAgain counts a launch of a task that ended with a closed connection.
func (t *table) closedAgain(n names) int {
	if len(t.closed) >= remembered {
		clear(t.closed)
	}
	t.closed[n]++
	return t.closed[n]
}

func (t *table) ended(ref TaskRef) bool { return t.recent[names{ref.Job, ref.Task}] > 0 }
