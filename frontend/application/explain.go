package application

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// View is an application as it is shown.
type View struct {
	ID        string              `json:"application"`
	Name      string              `json:"name,omitempty"`
	User      string              `json:"user,omitempty"`
	Owner     string              `json:"owner,omitempty"`     // for whom it runs
	Submitter string              `json:"submitter,omitempty"` // who registered it, as was proven then
	Page      string              `json:"page,omitempty"`      // address of its own page, http or https
	Grants    bool                `json:"grants"`
	State     string              `json:"state"`              // running, or ending and why
	Wanted    int                 `json:"wanted"`             // -1: one on every node
	Failures  int                 `json:"failures,omitempty"` // executors that ended in a row
	Running   int                 `json:"running"`            // executors that run
	Executors []api.ExecutorState `json:"executors"`
	Levels    []LevelView         `json:"levels"`
	Used      map[string]float64  `json:"slot_seconds"` // that it has used since it registered here, by owner
}

// LevelView is a level as it is shown.
type LevelView struct {
	Level    string  `json:"level"`
	Title    string  `json:"title,omitempty"`
	Owner    string  `json:"owner,omitempty"`    // for whom it is
	Priority int32   `json:"priority,omitempty"` // among the work of its owner
	Class    string  `json:"class"`
	Why      string  `json:"why"`
	Wanted   int64   `json:"wanted"`  // grants that it waits for
	Had      int64   `json:"had"`     // grants that it has received
	Seconds  float64 `json:"waiting"` // since it last received one, or first wanted one
}

// Views returns all applications here, by id.
func (s *Service) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []View{}
	for _, id := range slices.Sorted(maps.Keys(s.registry.apps)) {
		list = append(list, s.registry.apps[id].view(time.Now()))
	}
	return list
}

// page returns the address of an application's page that a browser may be led to, "" for none: the
// application states it, and other schemes than these run in the page that links to them.
func page(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxPage || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

// maxPage bounds the address of an application's page.
const maxPage = 1000

func (a *application) view(now time.Time) View {
	v := View{ID: a.ID, Name: a.Name, User: a.User, Owner: a.Owner, Submitter: a.Submitter, Page: page(a.Page), Grants: a.Grants, State: "running", Wanted: a.wants.Executors, Failures: a.executors.restarts.failures,
		Executors: []api.ExecutorState{}, Levels: []LevelView{}, Used: map[string]float64{}}
	for owner, o := range a.used {
		v.Used[owner] = (o.slot[sched.Short] + o.slot[sched.Long]).Seconds()
	}
	if a.ended != "" {
		v.State = "ending: " + a.ended
	}
	for _, p := range a.executors.byID {
		v.Executors = append(v.Executors, p.state)
		if p.state.State == api.ExecutorRunning {
			v.Running++
		}
	}
	slices.SortFunc(v.Executors, func(x, y api.ExecutorState) int {
		return cmp.Or(cmp.Compare(number(x.ID), number(y.ID)), strings.Compare(x.ID, y.ID))
	})
	for _, name := range slices.Sorted(maps.Keys(a.jobs.levels)) {
		l := a.jobs.levels[name]
		w := LevelView{Level: name, Title: l.Title, Owner: cmp.Or(l.Owner, a.Owner), Priority: l.Priority, Class: l.class.String(), Why: l.classReason, Wanted: l.wanted(), Had: l.Had}
		if w.Wanted > 0 {
			w.Seconds = now.Sub(l.since).Seconds()
		}
		v.Levels = append(v.Levels, w)
	}
	return v
}

// explained bounds the executors and levels that an explanation lists.
const explained = 20

// Explain returns the state of an application and what it waits for; false when it
// is not registered here.
func (s *Service) Explain(id string) (*api.Explanation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.registry.apps[id]
	if a == nil {
		return nil, false
	}
	v := a.view(time.Now())
	e := &api.Explanation{Groups: []api.GroupShare{}, Status: api.Status{Job: id, App: id, Owner: a.Owner, Submitter: a.Submitter, State: api.StateRunning, Submitted: float64(a.began.UnixNano()) / 1e9}}
	e.Why = append(e.Why, v.sentence())
	if used := v.usedSentence(); used != "" {
		e.Why = append(e.Why, used)
	}
	for i := range v.Executors {
		if i == explained {
			e.Why = append(e.Why, fmt.Sprintf("%d more executors.", len(v.Executors)-explained))
			break
		}
		e.Why = append(e.Why, executorSentence(&v.Executors[i]))
	}
	for i := range a.updates.states {
		if n := &a.updates.states[i]; n.State == api.ExecutorWaiting || n.Final {
			e.Why = append(e.Why, executorSentence(&n.ExecutorState))
		}
	}
	for i := range v.Levels {
		if i == explained {
			e.Why = append(e.Why, fmt.Sprintf("%d more levels.", len(v.Levels)-explained))
			break
		}
		e.Status.Tasks += int(v.Levels[i].Wanted)
		e.Why = append(e.Why, v.Levels[i].sentence(v.Owner))
	}
	if e.Status.Tasks > 0 {
		e.Why = append(e.Why, competitorSentences(s.registry.competitors(id))...)
	}
	return e, true
}

// competitorSentences lists the other applications that wait for the same slots.
func competitorSentences(list []competitor) (why []string) {
	const most = 5
	for i := range list {
		if i == most {
			return append(why, fmt.Sprintf("%d more applications wait at this frontend.", len(list)-most))
		}
		r := &list[i]
		why = append(why, fmt.Sprintf("Application %s waits at this frontend too, for %d short and %d long grants.", r.id, r.waits[sched.Short], r.waits[sched.Long]))
	}
	return why
}

func (v *View) sentence() string {
	how := "takes a grant for each piece of work"
	if !v.Grants {
		how = "holds slots for as long as its executors live"
	}
	wanted := fmt.Sprint(v.Wanted)
	if v.Wanted == api.EveryNode {
		wanted = "one on every node"
	}
	return fmt.Sprintf("It is an application with executors of its own, %s%s, and %s; it has %s and wants %s.", v.State, forWhom(v.Owner), how, sched.Count(len(v.Executors), "executor", "executors"), wanted)
}

func executorSentence(x *api.ExecutorState) string {
	s := fmt.Sprintf("Executor %s is %s", x.ID, x.State)
	if x.ID == "" {
		s = "An executor is " + x.State
	}
	if x.Node != "" {
		s += " on node " + x.Node
	}
	if x.Reason != "" {
		s += ": " + x.Reason
	}
	return s + "."
}

// forWhom continues a sentence with an owner; "" where there is none.
func forWhom(owner string) string {
	if owner == "" {
		return ""
	}
	return " for " + owner
}

// sentence describes the level of an application of that owner.
func (l *LevelView) sentence(owner string) string {
	name := l.Level
	if l.Title != "" {
		name = fmt.Sprintf("%s (%s)", l.Level, l.Title)
	}
	whose := ""
	if l.Owner != owner {
		whose = forWhom(l.Owner)
	}
	if l.Priority != 0 {
		whose += fmt.Sprintf(" with priority %d", l.Priority)
	}
	s := fmt.Sprintf("%s is %s%s: %s. It had %d grants", name, l.Class, whose, l.Why, l.Had)
	if l.Wanted == 0 {
		return s + " and waits for none."
	}
	return s + fmt.Sprintf(" and waits for %d; for the next one it has waited %.3f s.", l.Wanted, l.Seconds)
}

// competitors lists the other applications of this frontend that wait for grants,
// the ones that wait for the most grants first.
func (reg *registry) competitors(id string) (list []competitor) {
	for _, a := range reg.apps {
		r := competitor{id: a.ID}
		for _, l := range a.jobs.levels {
			r.waits[l.class] += l.wanted()
		}
		if a.ID != id && r.all() > 0 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y competitor) int { return cmp.Or(cmp.Compare(y.all(), x.all()), cmp.Compare(x.id, y.id)) })
	return list
}

// competitor is an application and the number of grants that it waits for.
type competitor struct {
	id    string
	waits [sched.NumClasses]int64
}

func (r *competitor) all() (n int64) {
	for _, w := range r.waits {
		n += w
	}
	return n
}

// usedSentence says what the application has used, by owner; "" for nothing.
func (v *View) usedSentence() string {
	var parts []string
	for _, owner := range slices.Sorted(maps.Keys(v.Used)) {
		parts = append(parts, fmt.Sprintf("%.1f for %s", v.Used[owner], cmp.Or(owner, "nobody in particular")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "It has used slot-seconds since it registered here: " + strings.Join(parts, ", ") + "."
}
