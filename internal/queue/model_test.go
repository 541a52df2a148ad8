package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// task is one waiting task in the model.
type task struct {
	job        *queue.Job
	n, attempt int32
	since      sched.Time
}

// slot is one worker in the model.
type slot struct {
	queue.Idler
	service *queue.Service
	kind    sched.WorkerKind
}

// model does what an Index does by looking at everything.
type model struct {
	index   *queue.Index
	jobs    []*queue.Job
	workers []*slot // all that live
	idle    []*slot // in order
	waiting [sched.NumClasses][]task
	held    map[string]int // applications that jobs name
	now     sched.Time
}

var appNames = []string{"", "a", "b", "a\x00b"}

// often are services that several workers offer.
var often = [][]string{{""}, {"", "a"}, {"b", "a"}}

func (m *model) first(names []string, c sched.Class) *task {
	for i := range m.waiting[c] {
		if slices.Contains(names, m.waiting[c][i].job.App().Name) {
			return &m.waiting[c][i]
		}
	}
	return nil
}

// remove removes the waiting tasks that match and returns them.
func (m *model) remove(matches func(task) bool) (removed []task) {
	for c := range m.waiting {
		m.waiting[c] = slices.DeleteFunc(m.waiting[c], func(t task) bool {
			if matches(t) {
				removed = append(removed, t)
				return true
			}
			return false
		})
	}
	return removed
}

func (m *model) push(t *rapid.T) {
	j := rapid.SampledFrom(m.jobs).Draw(t, "job")
	first, count := rapid.Int32Range(0, 30).Draw(t, "first"), rapid.Int32Range(1, 12).Draw(t, "count")
	attempt := rapid.Int32Range(1, 3).Draw(t, "attempt")
	for i := first; i < first+count; i++ {
		if j.Waiting(i) != 0 {
			return // a task waits once
		}
	}
	m.now++
	tasks := make([]task, count)
	for i := range tasks {
		tasks[i] = task{j, first + int32(i), attempt, m.now}
	}
	c := j.Class
	if rapid.IntRange(0, 4).Draw(t, "aside") == 0 {
		c = sched.Long - c
	}
	q := &m.waiting[c]
	if rapid.Bool().Draw(t, "head") {
		m.index.PushHeadAs(c, m.now, j, first, count, attempt)
		*q = slices.Concat(tasks, *q)
	} else {
		m.index.PushTailAs(c, m.now, j, first, count, attempt)
		*q = append(*q, tasks...)
	}
}

// reclass moves a job's tasks to the tail of a class, as the master does. Those of
// one queue keep their order.
func (m *model) reclass(t *rapid.T) {
	j := rapid.SampledFrom(m.jobs).Draw(t, "job")
	c := sched.Class(rapid.IntRange(0, 1).Draw(t, "class"))
	var got [sched.NumClasses][]task
	var moved []task
	m.index.Reclass(j, c, func(r *queue.Run) {
		for i := range r.Count {
			moved = append(moved, task{j, r.First + i, r.Attempt, m.now + 1})
			got[r.Class] = append(got[r.Class], task{j, r.First + i, r.Attempt, r.Since})
		}
		m.index.PushTail(m.now+1, j, r.First, r.Count, r.Attempt)
	})
	m.now++
	want := m.remove(func(o task) bool { return o.job == j })
	if list := slices.Concat(got[:]...); !slices.Equal(list, want) || j.Class != c {
		t.Fatalf("Reclass returns %v, want %v; the class is %s", list, want, j.Class)
	}
	m.waiting[c] = append(m.waiting[c], moved...)
}

func (m *model) take(t *rapid.T) {
	if len(m.workers) == 0 {
		return
	}
	m.takeFor(t, rapid.SampledFrom(m.workers).Draw(t, "worker").service, sched.Class(rapid.IntRange(0, 1).Draw(t, "class")))
}

// takeFor reports whether there was one.
func (m *model) takeFor(t *rapid.T, s *queue.Service, c sched.Class) bool {
	want, r := m.first(s.Names, c), m.index.First(s, c)
	if (want == nil) != (r == nil) {
		t.Fatalf("First returns %v, the model %v", r, want)
	}
	if r == nil {
		return false
	}
	j, attempt := r.Job, r.Attempt
	if n := m.index.Take(r); j != want.job || n != want.n || attempt != want.attempt {
		t.Fatalf("took task %d#%d, want %d#%d", n, attempt, want.n, want.attempt)
	}
	taken := *want
	m.remove(func(o task) bool { return o == taken })
	return true
}

// takeAll empties the idle lists, and the queues as far as the workers serve them.
func (m *model) takeAll(t *rapid.T) {
	for _, app := range appNames {
		for kind := range sched.NumWorkerKinds {
			for m.takeIdleOf(t, app, kind) {
			}
		}
	}
	for _, w := range m.workers {
		for c := range sched.Class(sched.NumClasses) {
			for m.takeFor(t, w.service, c) {
			}
		}
	}
	m.check(t)
}

func (m *model) cut(t *rapid.T) {
	j := rapid.SampledFrom(m.jobs).Draw(t, "job")
	first, count := rapid.Int32Range(0, 40).Draw(t, "first"), rapid.Int32Range(0, 40).Draw(t, "count")
	want := len(m.remove(func(o task) bool { return o.job == j && o.n >= first && o.n < first+count }))
	if got := m.index.Remove(j, first, count); int(got) != want {
		t.Fatalf("Remove returns %d, want %d", got, want)
	}
}

func (m *model) join(t *rapid.T) {
	names := rapid.OneOf(rapid.SampledFrom(often), rapid.SliceOfN(rapid.SampledFrom(appNames), 0, 4)).Draw(t, "names")
	before := m.index.Served()
	s, fresh := m.index.Join(names)
	if fresh == slices.Equal(before, m.index.Served()) {
		t.Fatalf("fresh %v, served before %q and after %q", fresh, before, m.index.Served())
	}
	m.workers = append(m.workers, &slot{service: s, kind: sched.WorkerKind(rapid.IntRange(0, 1).Draw(t, "kind"))})
}

// leave takes a worker out; tasks that no worker serves any more are removed as
// the master does.
func (m *model) leave(t *rapid.T) {
	if len(m.workers) == 0 {
		return
	}
	w := rapid.SampledFrom(m.workers).Draw(t, "worker")
	m.index.RemoveIdle(&w.Idler)
	m.idle = slices.DeleteFunc(m.idle, func(o *slot) bool { return o == w })
	m.workers = slices.DeleteFunc(m.workers, func(o *slot) bool { return o == w })
	m.index.Leave(w.service, func(a *queue.App) {
		var got []task
		m.index.TakeAll(a, func(r *queue.Run) {
			for i := range r.Count {
				got = append(got, task{r.Job, r.First + i, r.Attempt, r.Since})
			}
		})
		want := m.remove(func(o task) bool { return o.job.App() == a })
		if !slices.Equal(got, want) {
			t.Fatalf("TakeAll returns %v, want %v", got, want)
		}
	})
}

func (m *model) pushIdle(t *rapid.T) {
	if len(m.workers) == 0 {
		return
	}
	w := rapid.SampledFrom(m.workers).Draw(t, "worker")
	if got, want := w.Listed(), slices.Contains(m.idle, w); got != want {
		t.Fatalf("Listed is %t, want %t", got, want)
	}
	if w.Listed() {
		m.index.RemoveIdle(&w.Idler)
		m.idle = slices.DeleteFunc(m.idle, func(o *slot) bool { return o == w })
		return
	}
	m.index.PushIdle(&w.Idler, w.service, w.kind)
	m.idle = append(m.idle, w)
}

func (m *model) takeIdle(t *rapid.T) {
	m.takeIdleOf(t, rapid.SampledFrom(appNames).Draw(t, "app"), sched.WorkerKind(rapid.IntRange(0, 1).Draw(t, "kind")))
}

// takeIdleOf reports whether there was one.
func (m *model) takeIdleOf(t *rapid.T, app string, kind sched.WorkerKind) bool {
	a := m.index.Find(app)
	if a == nil {
		return false
	}
	at := slices.IndexFunc(m.idle, func(w *slot) bool { return w.kind == kind && slices.Contains(w.service.Names, a.Name) })
	e := m.index.TakeIdle(a, kind)
	if (e == nil) != (at < 0) || (e != nil && e != &m.idle[at].Idler) {
		t.Fatalf("TakeIdle returns %v, the model's is number %d of %d", e, at, len(m.idle))
	}
	if at >= 0 {
		m.idle = slices.Delete(m.idle, at, at+1)
	}
	return at >= 0
}

// newJob replaces a job without waiting tasks.
func (m *model) newJob(t *rapid.T) {
	i := rapid.IntRange(0, len(m.jobs)-1).Draw(t, "job")
	if old := m.jobs[i]; old.Queued == 0 {
		m.held[old.App().Name]--
		m.index.Exit(old)
		m.jobs[i] = m.enter(t)
	}
}

func (m *model) enter(t *rapid.T) *queue.Job {
	name := rapid.SampledFrom(appNames).Draw(t, "app")
	m.held[name]++
	j := &queue.Job{Class: sched.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
	m.index.Enter(j, name, "", 0)
	return j
}

// check compares everything that can be read without changing anything.
func (m *model) check(t *rapid.T) {
	for _, name := range appNames {
		workers := 0
		for _, w := range m.workers {
			if slices.Contains(w.service.Names, name) {
				workers++
			}
		}
		a := m.index.Find(name)
		if (a != nil) != (workers > 0 || m.held[name] > 0) {
			t.Fatalf("application %q is known: %v; %d workers serve it, %d jobs name it", name, a != nil, workers, m.held[name])
		}
		if a != nil && a.Workers != workers || slices.Contains(m.index.Served(), name) != (workers > 0) {
			t.Fatalf("application %q has %d workers", name, workers)
		}
	}
	for c, q := range m.waiting {
		if got := m.index.Queued(sched.Class(c)); got != len(q) {
			t.Fatalf("%d tasks wait, the index counts %d", len(q), got)
		}
		oldest, found := m.index.Oldest(sched.Class(c))
		if found != (len(q) > 0) {
			t.Fatalf("Oldest returns %d, %v with %d tasks waiting", oldest, found, len(q))
		}
		for i := range q {
			if q[i].since < oldest {
				t.Fatalf("Oldest returns %d, and task %d of job %v has waited since %d", oldest, q[i].n, q[i].job.ID, q[i].since)
			}
		}
	}
	for k := range sched.NumWorkerKinds {
		want := 0
		for _, w := range m.idle {
			if w.kind == k {
				want++
			}
		}
		if got := m.index.Idle(k); got != want {
			t.Fatalf("%d workers are idle, the index counts %d", want, got)
		}
	}
	for c := range m.waiting {
		for _, name := range []string{"", "a", "b", "never seen"} {
			want := slices.ContainsFunc(slices.Concat(m.waiting[:c+1]...), func(o task) bool { return o.job.App().Name != name })
			if got := m.index.OthersWait(name, "", sched.Class(c)); got != want {
				t.Fatalf("others than %q wait as %v ones: %v, want %v", name, sched.Class(c), got, want)
			}
		}
	}
	for i, j := range m.jobs {
		var queued [sched.NumClasses]int32
		for n := range int32(45) {
			want := int32(0)
			for c := range m.waiting {
				if at := slices.IndexFunc(m.waiting[c], func(o task) bool { return o.job == j && o.n == n }); at >= 0 {
					want = m.waiting[c][at].attempt
					queued[c]++
				}
			}
			if got := j.Waiting(n); got != want {
				t.Fatalf("job %d task %d waits with attempt %d, want %d", i, n, got, want)
			}
		}
		if counted := [sched.NumClasses]int32{j.QueuedAs(0), j.QueuedAs(1)}; counted != queued || j.Queued != queued[0]+queued[1] {
			t.Fatalf("job %d: %d tasks wait in the two queues, counted %d, %d in all", i, queued, counted, j.Queued)
		}
	}
}

// The index, which never looks at more than the heads of its lists, against a
// model that looks at everything.
func TestIndexAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{index: queue.NewIndex(), held: map[string]int{}}
		for range 4 {
			m.jobs = append(m.jobs, m.enter(t))
		}
		for range 8 {
			m.join(t)
			m.pushIdle(t)
		}
		m.check(t)
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "push again": m.push, "take": m.take, "cut": m.cut, "join": m.join, "leave": m.leave,
			"idle": m.pushIdle, "takeIdle": m.takeIdle, "newJob": m.newJob, "reclass": m.reclass, "": m.check,
		})
		m.takeAll(t)
	})
}

// Applications and services that are no longer used leave nothing behind: the
// cost of finding a worker must not grow with all that ever registered.
func TestUnusedApplicationsAreForgotten(t *testing.T) {
	x := queue.NewIndex()
	builtIn, _ := x.Join([]string{""})
	for i := range 1000 {
		s, fresh := x.Join([]string{fmt.Sprintf("app-%d", i), ""})
		if !fresh {
			t.Fatalf("application %d is no news", i)
		}
		orphans := 0
		x.Leave(s, func(*queue.App) { orphans++ })
		if orphans != 1 {
			t.Fatalf("%d applications lost their last worker, want 1", orphans)
		}
	}
	if got := x.Served(); !slices.Equal(got, []string{""}) {
		t.Errorf("served %q", got)
	}
	stays := &queue.Job{} // so that its owner is not forgotten
	x.Enter(stays, "", "team", 0)
	j := &queue.Job{}
	x.Enter(j, "app-7", "team", 0)
	x.PushTail(0, j, 0, 1, 1)
	x.Remove(j, 0, 1)
	x.Exit(j)
	if err := x.Valid(); err != nil {
		t.Error(err)
	}
	x.PushTail(0, stays, 0, 1, 1)
	if r := x.FirstOf([]string{""}, sched.Short); r == nil || r.Job != stays {
		t.Errorf("the next is %v, want the task of the job that stays", r)
	}
	x.Remove(stays, 0, 1)
	x.Exit(stays)
	if x.Find("app-7") != nil {
		t.Error("an application of the past is still known")
	}
	x.Leave(builtIn, func(*queue.App) {})
	if x.Find("") != nil {
		t.Error("the built-in backends are known without a worker")
	}
}
