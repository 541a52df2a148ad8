package queue_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// owned is an owner in the model: start-time fair queuing of each node's children, by
// looking at all of them.
type owned struct {
	path     string
	up       *owned
	kids     []*owned
	weight   float64
	tag, now float64
	most     float64
	running  int
	ahead    sched.Time
	waits    map[string][]*piece // of a leaf: by application, in order
	since    map[string]int
}

// piece is one task.
type piece struct {
	owner *owned
	app   string
	seq   int
	job   *queue.Job
	cost  sched.Time
}

type people struct {
	t      *rapid.T
	index  *queue.Index
	leaves []*owned
	all    []*owned
	begun  int
	seq    int
	jobs   map[string]*queue.Job
	next   map[*queue.Job]int32
	runs   []*piece
}

// owners of the model: no owner, a node with its own tasks and tasks below it,
// three levels, and more below the root than a heap has on its two first levels.
var owners = []string{"", "a", "b", "b/x", "b/y", "c/z/w", "d", "e", "f", "g", "h", "i", "j", "k"}

func newPeople(t *rapid.T) *people {
	p := &people{t: t, index: queue.NewIndex(), jobs: map[string]*queue.Job{}, next: map[*queue.Job]int32{}}
	byPath := map[string]*owned{}
	add := func(key, path string, up *owned) *owned {
		n := &owned{path: path, up: up, weight: 1, tag: math.Inf(-1), waits: map[string][]*piece{}, since: map[string]int{}}
		if up != nil {
			up.kids = append(up.kids, n)
		}
		byPath[key] = n
		p.all = append(p.all, n)
		return n
	}
	root := add("root", "", nil)
	for _, path := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		add(path, path, root)
	}
	for _, path := range []string{"b/x", "b/y", "c/z", "c/z/w"} {
		add(path, path, byPath[path[:strings.LastIndexByte(path, '/')]])
	}
	add("own", "", root)
	add("b own", "b", byPath["b"])
	for _, key := range []string{"own", "a", "b own", "b/x", "b/y", "c/z/w", "d", "e", "f", "g", "h", "i", "j", "k"} {
		p.leaves = append(p.leaves, byPath[key])
	}
	for _, app := range []string{"p", "q"} {
		for _, owner := range owners {
			j := &queue.Job{}
			p.index.Enter(j, app, owner, 0)
			p.jobs[app+" "+owner] = j
		}
	}
	return p
}

func (n *owned) waiting(app string) (count int) {
	count = len(n.waits[app])
	for _, k := range n.kids {
		count += k.waiting(app)
	}
	return count
}

func (n *owned) before(o *owned, app, other string) bool {
	return n.tag < o.tag || (n.tag == o.tag && n.since[app] < o.since[other])
}

func (n *owned) virtual(d sched.Time) float64 {
	if n.weight == 1 {
		return float64(d)
	}
	return float64(d) * 1e6 / math.Round(n.weight*1e6)
}

func (n *owned) begin(app string) {
	least := n.up.now
	for _, k := range n.up.kids {
		if k != n && k.waiting(app) > 0 {
			least = min(least, k.tag)
		}
	}
	n.tag = max(n.tag, least)
}

// leafFor returns the owner that is served first among those that wait for the application.
func (n *owned) leafFor(app string) *owned {
	if len(n.kids) == 0 {
		return n
	}
	var best *owned
	for _, k := range n.kids {
		if k.waiting(app) > 0 && (best == nil || k.before(best, app, app)) {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	return best.leafFor(app)
}

func (n *owned) way() (list []*owned) {
	for ; n.up != nil; n = n.up {
		list = append([]*owned{n}, list...)
	}
	return list
}

// first returns the next task for a worker that serves the applications.
func (p *people) first(apps []string) *piece {
	var best *piece
	for _, app := range apps {
		leaf := p.all[0].leafFor(app)
		if leaf == nil {
			continue
		}
		x := leaf.waits[app][0]
		switch {
		case best == nil:
			best = x
		case best.owner == leaf:
			if x.seq < best.seq {
				best = x
			}
		default:
			a, b := leaf.way(), best.owner.way()
			i := 0
			for a[i] == b[i] {
				i++
			}
			if a[i].before(b[i], app, best.app) {
				best = x
			}
		}
	}
	return best
}

// rest makes all equal when nothing waits or runs any more.
func (n *owned) rest() {
	if len(n.kids) > 0 && n.running+n.waiting("p")+n.waiting("q") == 0 {
		n.now = max(n.now, n.most)
	}
}

func (p *people) push(t *rapid.T) {
	i, app := rapid.IntRange(0, len(owners)-1).Draw(t, "owner"), rapid.SampledFrom([]string{"p", "q"}).Draw(t, "app")
	leaf, j := p.leaves[i], p.jobs[app+" "+owners[i]]
	count := rapid.IntRange(1, 4).Draw(t, "count")
	for n := leaf; n.up != nil && n.waiting(app) == 0; n = n.up {
		n.begin(app)
		p.begun++
		n.since[app] = p.begun
	}
	for range count {
		p.seq++
		leaf.waits[app] = append(leaf.waits[app], &piece{owner: leaf, app: app, seq: p.seq, job: j})
	}
	p.index.PushTail(0, j, p.next[j], int32(count), 1)
	p.next[j] += int32(count)
}

func (p *people) launched(x *piece, waited bool) {
	for n := x.owner; n.up != nil; n = n.up {
		if !waited && n.waiting("p")+n.waiting("q") == 0 {
			n.tag = max(n.tag, n.up.now)
		}
		n.up.now = max(n.up.now, n.tag-n.virtual(n.ahead))
		n.tag += n.virtual(x.cost)
		n.up.most = max(n.up.most, n.tag)
		n.ahead += x.cost
		n.running++
	}
	p.all[0].running++
	p.index.Tree().Launch(x.job.Owner(), sched.Short, x.cost, waited)
	p.runs = append(p.runs, x)
}

func drawCost(t *rapid.T) sched.Time { return sched.Time(rapid.Int64Range(1, 50).Draw(t, "cost")) }

func (p *people) arrive(t *rapid.T) {
	i, app := rapid.IntRange(0, len(owners)-1).Draw(t, "owner"), rapid.SampledFrom([]string{"p", "q"}).Draw(t, "app")
	p.launched(&piece{owner: p.leaves[i], app: app, job: p.jobs[app+" "+owners[i]], cost: drawCost(t)}, false)
}

func (p *people) take(t *rapid.T) {
	apps := rapid.SampledFrom([][]string{{"p"}, {"q"}, {"p", "q"}}).Draw(t, "serves")
	got, want := p.index.FirstOf(apps, sched.Short), p.first(apps)
	if (got == nil) != (want == nil) {
		t.Fatalf("the next for %v is %v, want %v", apps, got, want)
	}
	if got == nil {
		return
	}
	if got.Job != want.job {
		t.Fatalf("the next for %v is of %q for %q, want %q for %q", apps, got.Job.Owner().Path(), got.Job.App().Name, want.owner.path, want.app)
	}
	p.index.Take(got)
	want.owner.waits[want.app] = want.owner.waits[want.app][1:]
	for n := want.owner; n != nil; n = n.up {
		n.rest()
	}
	if rapid.IntRange(0, 9).Draw(t, "moved to another group") > 0 {
		want.cost = drawCost(t)
		p.launched(want, true)
	}
}

func (p *people) end(t *rapid.T) {
	if len(p.runs) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.runs)-1).Draw(t, "run")
	x, used := p.runs[i], sched.Time(rapid.Int64Range(0, 80).Draw(t, "used"))
	p.runs = append(p.runs[:i], p.runs[i+1:]...)
	for n := x.owner; n.up != nil; n = n.up {
		n.ahead -= x.cost
		n.tag += n.virtual(used - x.cost)
		n.up.most = max(n.up.most, n.tag)
		n.running--
		n.rest()
	}
	p.all[0].running--
	p.all[0].rest()
	p.index.Tree().End(x.job.Owner(), sched.Short, x.cost, used, false)
}

func (p *people) share(t *rapid.T) {
	var list []sched.Share
	for _, n := range p.all[1:] {
		if strings.Contains(" a b c b/x b/y c/z ", " "+n.path+" ") && len(n.path) > 0 && !(n.path == "b" && n.up.path == "b") {
			if n.weight = 1; rapid.Bool().Draw(t, "named") {
				n.weight = rapid.SampledFrom([]float64{0.001, 0.3, 1, 2, 4, 1e6}).Draw(t, "weight")
				list = append(list, sched.Share{Owner: n.path, Weight: n.weight})
			}
		}
	}
	if !p.index.Tree().Set(list, 0, 0) {
		t.Fatal("the shares are refused")
	}
	if p.index.Tree().Set(append(list, sched.Share{Owner: "a", Weight: -1}), 0, 0) {
		t.Fatal("bad shares are accepted")
	}
}

// The heaps of owners give what looking at all owners gives, whatever arrives, ends and is
// reconfigured, with several applications and workers that serve one or both.
func TestOwnersAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPeople(t)
		for range rapid.IntRange(0, 60).Draw(t, "waiting at first") {
			p.push(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": p.push, "take": p.take, "take again": p.take, "arrive": p.arrive, "end": p.end, "share": p.share,
			"": func(t *rapid.T) {
				if err := p.index.Valid(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// Those of one owner's jobs with a higher priority come first, and one that is put at the
// head comes first of its priority. Other owners are not affected.
func TestPriorities(t *testing.T) {
	x := queue.NewIndex()
	push := func(owner string, estimate sched.Time, priority int32, head bool) *queue.Job {
		j := &queue.Job{Estimate: estimate}
		x.Enter(j, "", owner, priority)
		if head {
			x.PushHead(0, j, 0, 1, 1)
		} else {
			x.PushTail(0, j, 0, 1, 1)
		}
		return j
	}
	push("a", 1, 0, false)
	push("a", 2, 5, false)
	push("a", 3, -7, false)
	push("a", 4, 5, false)
	push("a", 5, 5, true)
	push("a", 6, 0, true)
	last := push("b", 7, -100, false)
	var got []string
	for r := x.FirstOf([]string{""}, sched.Short); r != nil; r = x.FirstOf([]string{""}, sched.Short) {
		j := r.Job
		got = append(got, fmt.Sprint(int64(j.Estimate)))
		x.Take(r)
		x.Tree().Launch(j.Owner(), sched.Short, 1, true)
		if err := x.Valid(); err != nil {
			t.Fatal(err)
		}
		if j != last {
			x.Exit(j)
		}
	}
	if order := strings.Join(got, " "); order != "5 7 2 4 6 1 3" {
		t.Errorf("served in the order %s", order)
	}
}

// limited is an index of four workers whose owners have these shares, with one waiting job for each.
func limited(t *testing.T, shares []sched.Share, owners ...string) (x *queue.Index, jobs map[string]*queue.Job) {
	x, jobs = queue.NewIndex(), map[string]*queue.Job{}
	x.Tree().SetWorkers(4)
	if !x.Tree().Set(shares, 0, 0) {
		t.Fatal("the shares are refused")
	}
	for _, owner := range owners {
		j := &queue.Job{}
		x.Enter(j, "", owner, 0)
		x.PushTail(0, j, 0, 3, 1)
		jobs[owner] = j
	}
	return x, jobs
}

// firstOwner returns whose task is served first, "none" when none may be.
func firstOwner(t *testing.T, x *queue.Index) string {
	t.Helper()
	if err := x.Valid(); err != nil {
		t.Fatal(err)
	}
	if r := x.FirstOf([]string{""}, sched.Short); r != nil {
		return r.Job.Owner().Path()
	}
	return "none"
}

// A max below an owner leaves the workers to the others below it, and then to other owners,
// however those that may be served change.
func TestMaxBelowAnOwner(t *testing.T) {
	x, jobs := limited(t, []sched.Share{{Owner: "t/a", Weight: 1, Max: 0.25}}, "t/a", "t/b", "u")
	launch := func(owner string, cost sched.Time) {
		x.Take(x.FirstOf([]string{""}, sched.Short))
		x.Tree().Launch(jobs[owner].Owner(), sched.Short, cost, true)
	}
	expect := func(when, want string) {
		t.Helper()
		if got := firstOwner(t, x); got != want {
			t.Fatalf("%s the first is %q, want %q", when, got, want)
		}
	}
	expect("at the beginning", "t/a")
	launch("t/a", 1)
	expect("with t/a at its max", "u")
	launch("u", 5)
	expect("with t behind by its use", "t/b")
	x.Remove(jobs["t/b"], 0, 3)
	expect("with only t/a waiting below t", "u")
	x.Remove(jobs["u"], 0, 3)
	expect("with only t/a waiting", "none")
	x.PushTail(0, jobs["u"], 0, 3, 1)
	expect("with u again", "u")
	x.PushTail(0, jobs["t/b"], 0, 3, 1)
	x.Tree().Launch(jobs["u"].Owner(), sched.Short, 5, false)
	expect("with t/b again", "t/b")
	x.Remove(jobs["t/b"], 0, 3)
	x.Tree().End(jobs["t/a"].Owner(), sched.Short, 1, 1, false)
	expect("after the end of the task of t/a", "t/a")
}

// docs/shares.md: an owner is served before others "while [it] has less than this part of the slots";
// among such owners the one with the lowest tag comes first.
func TestSeveralBelowTheirMin(t *testing.T) {
	x, jobs := limited(t, []sched.Share{{Owner: "a", Weight: 1, Min: 0.5}, {Owner: "b", Weight: 1, Min: 0.5}}, "c", "a", "b")
	var got []string
	for range 5 {
		owner := firstOwner(t, x)
		got = append(got, owner)
		x.Take(x.FirstOf([]string{""}, sched.Short))
		x.Tree().Launch(jobs[owner].Owner(), sched.Short, map[string]sched.Time{"a": 10, "b": 3, "c": 1}[owner], true)
	}
	if want := "a b b a c"; strings.Join(got, " ") != want {
		t.Errorf("served in the order %s, want %s", strings.Join(got, " "), want)
	}
}

// The priorities of one owner's jobs count across the applications that a worker serves.
func TestPrioritiesOfSeveralApplications(t *testing.T) {
	x := queue.NewIndex()
	push := func(app string, priority int32) *queue.Job {
		j := &queue.Job{}
		x.Enter(j, app, "a", priority)
		x.PushTail(0, j, 0, 1, 1)
		return j
	}
	want := []*queue.Job{1: push("p", 0), 3: push("q", -1), 0: push("q", 5), 2: push("q", 0)}
	for i, j := range want {
		r := x.FirstOf([]string{"p", "q"}, sched.Short)
		if r == nil || r.Job != j {
			t.Fatalf("the task that is served as number %d is %v, want one of priority %d", i, r, j.Priority())
		}
		x.Take(r)
	}
}

// Priorities that an owner no longer uses leave nothing behind, and the place that was made for one
// of them stays as long as tasks of others wait there.
func TestUnusedPriorities(t *testing.T) {
	x := queue.NewIndex()
	enter := func(owner string, priority int32) *queue.Job {
		j := &queue.Job{}
		x.Enter(j, "", owner, priority)
		x.PushTail(0, j, 0, 1, 1)
		return j
	}
	leave := func(j *queue.Job) {
		x.Remove(j, 0, 1)
		x.Exit(j)
		if err := x.Valid(); err != nil {
			t.Fatal(err)
		}
	}
	first := enter("t", 0)
	for priority := range int32(100) {
		leave(enter("t", priority+1))
	}
	waits, middle, next, top := enter("t", 7), enter("t", 8), enter("t", 9), enter("t", 10)
	leave(middle)
	leave(next)
	leave(first)
	member := enter("t/m", 0)
	if err := x.Valid(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []*queue.Job{top, waits} {
		if r := x.FirstOf([]string{""}, sched.Short); r.Job != want {
			t.Errorf("the first is of %q, priority %d", r.Job.Owner().Path(), r.Job.Priority())
		}
		leave(want)
	}
	leave(member)
}

// A job changes its owner and its priority together with its waiting tasks. Both owners are
// forgotten once it has left, but for some that are kept in case they come again.
func TestChange(t *testing.T) {
	x := queue.NewIndex()
	for i := range 1000 {
		j, owner := &queue.Job{}, fmt.Sprintf("b%d/c", i)
		x.Enter(j, "", fmt.Sprintf("a%d", i), 0)
		x.PushTail(0, j, 0, 3, 1)
		x.PushTailAs(sched.Long, 0, j, 3, 1, 1)
		x.Change(j, owner, 4)
		if err := x.Valid(); err != nil || j.Owner().Path() != owner || j.Priority() != 4 || j.Queued != 4 || j.QueuedAs(sched.Long) != 1 {
			t.Fatalf("%v; of %q, priority %d, %d tasks", err, j.Owner().Path(), j.Priority(), j.Queued)
		}
		x.Remove(j, 0, 4)
		x.Change(j, "d", 1) // without waiting tasks
		if j.Owner().Path() != "d" || j.Priority() != 1 {
			t.Fatalf("without waiting tasks it is of %q, priority %d", j.Owner().Path(), j.Priority())
		}
		x.Exit(j)
	}
	known := 0
	x.Tree().All(func(*shares.Node) { known++ })
	if known > 300 {
		t.Errorf("%d owners are known without a job", known)
	}
	if x.Find("") != nil {
		t.Error("the built-in backends are known without a job")
	}
}

// An owner whose tasks wait becomes one of several below it, and its waiting tasks stay.
func TestAnOwnerGetsMembers(t *testing.T) {
	x := queue.NewIndex()
	enter := func(owner string, class sched.Class) *queue.Job {
		j := &queue.Job{Class: class}
		x.Enter(j, "", owner, 0)
		x.PushTail(0, j, 0, 2, 1)
		return j
	}
	a, _, c := enter("t", sched.Short), enter("t", sched.Long), enter("u", sched.Short)
	b := enter("t/b", sched.Short)
	if err := x.Valid(); err != nil {
		t.Fatal(err)
	}
	var got []*queue.Job
	for r := x.FirstOf([]string{""}, sched.Short); r != nil; r = x.FirstOf([]string{""}, sched.Short) {
		got = append(got, r.Job)
		x.Tree().Launch(r.Job.Owner(), sched.Short, 10, true)
		x.Take(r)
		if err := x.Valid(); err != nil {
			t.Fatal(err)
		}
	}
	want := []*queue.Job{a, c, b, c, a, b}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("the order is %p, want %p", got, want)
		}
	}
}
