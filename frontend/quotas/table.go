package quotas

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Table counts the unfinished tasks and their bytes by owner. It is used by one goroutine.
// Make one with New.
type Table struct {
	quotas   map[string]owners.Quota
	defaults owners.Quota
	used     map[string]*use // of every owner with unfinished jobs and of those above it

	described map[[2]string]string // the holders of a quota, by owner and unit, as of asOf
	asOf      time.Time

	jobs map[*jobs.Job]*Holding // that have not ended
	held held
}

// use is what an owner has, with all owners below it.
type use struct {
	tasks int
	bytes int64
	jobs  int
	own   amount // of its own jobs
}

// amount is tasks and bytes.
type amount struct {
	tasks int
	bytes int64
}

// New returns a table without quotas.
func New() *Table {
	return &Table{used: map[string]*use{}, jobs: map[*jobs.Job]*Holding{}, held: held{holders: map[string]*holding{}, submitters: map[string]*holding{}}}
}

// Set replaces the quotas. What is held above a new quota stays, and nothing is accepted
// until it is below.
func (t *Table) Set(q owners.Quotas) {
	t.quotas = make(map[string]owners.Quota, len(q.Quotas))
	for _, e := range q.Quotas {
		t.quotas[e.Owner] = e
	}
	t.defaults = owners.Quota{Tasks: q.DefaultTasks, Bytes: q.DefaultBytes}
}

// Holding is what one job holds until it is released. A nil Holding holds nothing.
type Holding struct {
	table *Table
	owner string
	amount

	holder, submitter string // of a job that is observed, and all that it holds
	all               amount
}

// Add counts a job of an owner. Release undoes it.
func (t *Table) Add(owner string, tasks int, bytes int64) *Holding {
	h := &Holding{table: t, owner: owner, amount: amount{tasks, bytes}}
	t.change(owner, h.amount, 1)
	return h
}

// TaskEnded counts one task of the job less.
func (h *Holding) TaskEnded() {
	if h != nil && h.tasks > 0 {
		h.tasks--
		h.table.change(h.owner, amount{tasks: -1}, 0)
	}
}

// Release counts the job and its tasks no longer. It may be called twice.
func (h *Holding) Release() {
	if h != nil && h.table != nil {
		h.table.change(h.owner, amount{-h.tasks, -h.bytes}, -1)
		h.table, h.amount = nil, amount{}
	}
}

// change adds to an owner and to every owner above it.
func (t *Table) change(owner string, a amount, jobs int) {
	for path := range above(owner) {
		u := t.used[path]
		if u == nil {
			u = &use{}
			t.used[path] = u
		}
		u.tasks, u.bytes, u.jobs = u.tasks+a.tasks, u.bytes+a.bytes, u.jobs+jobs
		if path == owner { // the last
			u.own.tasks, u.own.bytes = u.own.tasks+a.tasks, u.own.bytes+a.bytes
		}
		if u.jobs == 0 {
			delete(t.used, path)
		}
	}
}

// above yields an owner and those above it, the highest first; "" has none above it and is
// above none.
func above(owner string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(owner) {
			if owner[i] == '/' && !yield(owner[:i]) {
				return
			}
		}
		yield(owner)
	}
}

// quota returns the quota of an owner. Those of the setting apply to it and all below it; the
// default applies to the owner of a job itself, and not to those above it.
func (t *Table) quota(path string, ofJob bool) (q owners.Quota, key string) {
	q, named := t.quotas[path]
	switch {
	case named:
		return q, "quotas"
	case ofJob:
		return t.defaults, "default"
	default:
		return owners.Quota{}, ""
	}
}

// Limit is a quota that a job would exceed.
type Limit struct {
	What  string // part of a sentence: quota, owner, how much is used, its largest holders
	Never bool   // the job alone exceeds it
	Key   string // the setting
}

// Check returns the highest quota that a job of an owner would exceed, nil when it exceeds
// none.
func (t *Table) Check(owner string, tasks int, bytes int64) *Limit {
	for path := range above(owner) {
		q, key := t.quota(path, path == owner)
		u := t.used[path]
		if u == nil {
			u = &use{}
		}
		if q.Tasks > 0 && u.tasks+tasks > q.Tasks {
			return t.excess(path, key, "tasks", int64(u.tasks), int64(tasks), int64(q.Tasks), func(a amount) int64 { return int64(a.tasks) })
		}
		if q.Bytes > 0 && u.bytes+bytes > q.Bytes {
			return t.excess(path, key, "bytes", u.bytes, bytes, q.Bytes, func(a amount) int64 { return a.bytes })
		}
	}
	return nil
}

func (t *Table) excess(path, key, unit string, used, more, most int64, of func(amount) int64) *Limit {
	if key == "default" {
		key = "default_" + unit
	}
	e := &Limit{Key: key, Never: more > most}
	e.What = fmt.Sprintf("its %d %s would pass the quota of %s, %d %s (%s), of which %d are used", more, unit, Name(path), most, unit, key, used)
	if used > 0 {
		e.What += ": " + t.describe(path, unit, of)
	}
	return e
}

// Name returns an owner as sentences name it.
func Name(owner string) string {
	if owner == "" {
		return "nobody in particular"
	}
	return fmt.Sprintf("owner %q", owner)
}

// shownHolders bounds the holders that a refusal names.
const shownHolders = 3

// describeEvery is how long a description of holders is used again, because it is looked for
// among all owners and refusals may be many.
const describeEvery = time.Second

// describe names the holders of a quota, as of a moment ago.
func (t *Table) describe(path, unit string, of func(amount) int64) string {
	if now := time.Now(); now.Sub(t.asOf) >= describeEvery {
		t.asOf, t.described = now, map[[2]string]string{}
	}
	key := [2]string{path, unit}
	text, ok := t.described[key]
	if !ok {
		text = t.holders(path, of)
		t.described[key] = text
	}
	return text
}

// holders names the owners of jobs that hold the most of an owner's quota.
func (t *Table) holders(path string, of func(amount) int64) string {
	var list []api.Share
	for owner, u := range t.used { // sorted below
		if n := of(u.own); n > 0 && (owner == path || path != "" && api.IsBelow(owner, path)) {
			list = append(list, api.Share{Who: Name(owner), Amount: n})
		}
	}
	slices.SortFunc(list, func(a, b api.Share) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), strings.Compare(a.Who, b.Who))
	})
	var parts []string
	for _, s := range list[:min(len(list), shownHolders)] {
		parts = append(parts, fmt.Sprintf("%d by %s", s.Amount, s.Who))
	}
	text := strings.Join(parts, ", ")
	if rest := len(list) - shownHolders; rest > 0 {
		text += fmt.Sprintf(" and the rest by %s", sched.Count(rest, "other owner", "other owners"))
	}
	return text
}

// States returns the owners that have a quota, sorted: those that the setting names, and
// the owners of jobs to which the default applies.
func (t *Table) States() []api.QuotaState {
	paths := map[string]bool{}
	for path := range t.quotas {
		paths[path] = true
	}
	if t.defaults.Tasks > 0 || t.defaults.Bytes > 0 {
		for path, u := range t.used {
			if u.own != (amount{}) {
				paths[path] = true
			}
		}
	}
	list := make([]api.QuotaState, 0, len(paths))
	for path := range paths { // sorted below
		q, _ := t.quota(path, true)
		s := api.QuotaState{Owner: path, MaxTasks: q.Tasks, MaxBytes: q.Bytes}
		if u := t.used[path]; u != nil {
			s.Tasks, s.Bytes = u.tasks, u.bytes
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b api.QuotaState) int { return strings.Compare(a.Owner, b.Owner) })
	return list
}
