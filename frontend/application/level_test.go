package application

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestChooseNodes(t *testing.T) {
	for name, c := range map[string]struct {
		places []candidate
		need   int
		want   []string
	}{
		"evenly":               {[]candidate{{"a", 900, 0, 99}, {"b", 900, 0, 99}}, 4, []string{"a", "b", "a", "b"}},
		"where it has fewest":  {[]candidate{{"a", 900, 2, 99}, {"b", 900, 0, 99}}, 3, []string{"b", "b", "a"}},
		"where there is most":  {[]candidate{{"a", 300, 0, 99}, {"b", 900, 0, 99}}, 1, []string{"b"}},
		"as long as it fits":   {[]candidate{{"a", 350, 0, 99}, {"b", 150, 0, 99}}, 9, []string{"a", "b", "a", "a"}},
		"nowhere":              {[]candidate{{"a", 99, 0, 99}}, 1, nil},
		"no node":              {nil, 1, nil},
		"nothing to be placed": {[]candidate{{"a", 900, 0, 99}}, 0, nil},
	} {
		if got := chooseNodes(c.places, c.need, 100); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRestarts(t *testing.T) {
	now := time.Unix(1000, 0)
	r := restarts{}
	var pauses []time.Duration
	for i := range 9 {
		if r.executorFailed(now, time.Second, 0) {
			t.Fatalf("final after %d failures", i+1)
		}
		pauses = append(pauses, r.notBefore.Sub(now))
	}
	if want := "[100ms 200ms 400ms 800ms 1.6s 3.2s 6.4s 10s 10s]"; fmt.Sprint(pauses) != want {
		t.Errorf("%v, want %v", pauses, want)
	}
	if r.executorFailed(now, time.Second, 1) {
		t.Error("final although an executor runs")
	}
	if !r.executorFailed(now, time.Second, 0) {
		t.Error("not final after ten failures")
	}
	if r.executorFailed(now, wellAfter, 0) || r.notBefore.Sub(now) != firstPause {
		t.Error("an executor that ran well does not reset the count")
	}
}

func TestSentenceOfALevelThatHadNoGrant(t *testing.T) {
	l := LevelView{Level: "0.0-long", Class: "long", Why: "it is slow", Wanted: 12, Seconds: 31.4}
	if got, want := l.sentence(""), "0.0-long is long: it is slow. It had 0 grants and waits for 12; for the next one it has waited 31.400 s."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	n := newUpdates()
	state := func(id, s string) api.ExecutorState { return api.ExecutorState{ID: id, State: s} }
	n.setState(state("1", "starting"))
	n.setState(state("2", "starting"))
	n.setState(state("2", "starting")) // changes nothing
	first := n.since(0)
	n.setState(state("1", "running"))
	n.addNote("a note")
	if len(first.Executors) != 2 || first.Version != 3 {
		t.Errorf("%+v", first)
	}
	second := n.since(first.Version)
	if want := (api.News{Version: 5, Executors: []api.ExecutorState{state("1", "running")}, Notes: []string{"a note"}}); fmt.Sprint(second) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", second, want)
	}
	if all := n.since(99); len(all.Executors) != 2 || len(all.Notes) != 1 {
		t.Errorf("since the version of another frontend: %+v", all)
	}
	for i := range 2000 {
		n.addNote("x")
		n.setState(state(fmt.Sprint(i), api.ExecutorExited))
	}
	if len(n.notes) > maxNotes || len(n.states) > maxStates {
		t.Errorf("%d notes and %d states are kept", len(n.notes), len(n.states))
	}
}

// levelModel is an application with one level: grants reach it in any order, some are
// lost, some ends are reported wrongly, and the number that it wants rises and falls.
type levelModel struct {
	l      level
	number int   // of the last job
	wanted int64 // by the application
	had    int64
	queued map[string]int // of the jobs' tasks: not granted yet
	bound  map[string]int // granted: the application has them, or had
}

func (p *levelModel) state() {
	p.l.Total, p.l.Had = p.had+p.wanted, p.had
	missing, cuts := p.l.balance()
	for _, c := range cuts {
		p.cut(c)
	}
	if missing > 0 {
		p.number++
		j := &levelJob{key: fmt.Sprint(p.number), class: p.l.class, tasks: int(missing)}
		p.l.submitted(j)
		p.queued[j.key] = j.tasks
	}
}

// cut withdraws tasks, waiting ones first. Bound ones run to their end, which is not
// reported.
func (p *levelModel) cut(c withdrawal) {
	if c.tasks == 0 {
		delete(p.queued, c.key)
		delete(p.bound, c.key)
		return
	}
	waiting := min(c.tasks, p.queued[c.key])
	p.queued[c.key] -= waiting
	p.bound[c.key] = max(0, p.bound[c.key]-(c.tasks-waiting))
}

func (p *levelModel) sum() (n int64) {
	for _, q := range p.queued {
		n += int64(q)
	}
	return n
}

func pick(rt *rapid.T, m map[string]int) string {
	var keys []string
	for k, n := range m {
		if n > 0 {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return rapid.SampledFrom(keys).Draw(rt, "job")
}

// After any history, once the application has stated what it wants and every running
// grant has ended, at least as many grants are queued as it wants; and when it wants
// none and accepts those that still arrive, they soon cease.
func TestLevel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &levelModel{queued: map[string]int{}, bound: map[string]int{}}
		// The application moved to this frontend after it had received grants.
		p.had = rapid.Int64Range(0, 3).Draw(rt, "had")
		p.l.base = p.had
		grant := func(reaches bool) {
			k := pick(rt, p.queued)
			if k == "" {
				return
			}
			p.queued[k]--
			p.bound[k]++
			if reaches {
				p.had++
				p.wanted = max(0, p.wanted-1)
			}
		}
		end := func(missed bool) {
			if k := pick(rt, p.bound); k != "" {
				p.bound[k]--
				p.l.taskEnded(k, missed)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"grant": func(*rapid.T) { grant(true) },
			"granted, but it never reaches the application, and that is reported": func(*rapid.T) {
				k := pick(rt, p.queued)
				if k != "" {
					p.queued[k]--
					p.l.taskEnded(k, true)
				}
			},
			"granted, but it is lost on the way without a report": func(*rapid.T) { grant(false) },
			"end":       func(*rapid.T) { end(false) },
			"wrong end": func(*rapid.T) { end(true) },
			"wants":     func(rt *rapid.T) { p.wanted = rapid.Int64Range(0, 5).Draw(rt, "wanted") },
			"class":     func(rt *rapid.T) { p.l.class = sched.Class(rapid.IntRange(0, 1).Draw(rt, "class")) },
			"state":     func(*rapid.T) { p.state() },
		})
		for pick(rt, p.bound) != "" {
			end(false)
		}
		p.state()
		if p.sum() < p.wanted {
			rt.Fatalf("%d grants are wanted and %d are queued: %+v", p.wanted, p.sum(), p.l)
		}
		for rounds := 0; p.sum() > 0; rounds++ {
			if rounds > 100 {
				rt.Fatalf("grants do not cease: %+v", p.l)
			}
			grant(true)
			end(false)
			p.state()
		}
	})
}

// The usual case: a stage of 100 tasks, stated again at each step, is one job; when
// fewer are wanted, that many of its tasks are withdrawn, also while others run.
func TestLevelJobs(t *testing.T) {
	p := &levelModel{queued: map[string]int{}, bound: map[string]int{}}
	p.wanted = 100
	for range 50 {
		p.state()
		p.queued["1"]--
		p.bound["1"]++
		p.had++
		p.wanted--
	}
	p.state()
	if p.number != 1 || p.l.outstanding() != 50 || p.l.live() != 100 {
		t.Errorf("%d jobs, %d outstanding: %+v", p.number, p.l.outstanding(), p.l)
	}
	p.wanted = 20 // others ran in slots that were kept
	p.state()
	if p.queued["1"] != 20 || p.bound["1"] != 50 || p.l.outstanding() != 20 {
		t.Errorf("%v wait, %v run, %d outstanding", p.queued, p.bound, p.l.outstanding())
	}
	p.wanted = 25 // five tasks failed
	p.state()
	if p.queued["1"] != 20 || p.queued["2"] != 5 {
		t.Errorf("%v", p.queued)
	}
	p.wanted = 18
	p.state() // the newest are withdrawn first
	if p.queued["1"] != 18 || p.queued["2"] != 0 || len(p.l.jobs) != 1 {
		t.Errorf("%v", p.queued)
	}
	p.wanted = 0 // the last tasks run, one of them slowly: no further grant may arrive
	p.state()
	if p.queued["1"] != 0 || p.bound["1"] != 50 || p.l.outstanding() != 0 {
		t.Errorf("%v wait, %v run, %d outstanding", p.queued, p.bound, p.l.outstanding())
	}
	p.wanted, p.l.class = 2, sched.Long
	p.state() // demoted: its waiting tasks wait in the long queue
	if p.queued["1"] != 0 || p.queued["3"] != 2 || len(p.l.jobs) != 1 || p.l.jobs[0].class != sched.Long {
		t.Errorf("%v", p.queued)
	}
}

// Waiting tasks are placed again, each time after twice as long; running ones stay,
// and a grant resets the interval.
func TestWaitingTasksAreReplaced(t *testing.T) {
	d := newCluster(t, "a")
	d.groups = 2
	a := d.serve(1)
	x := api.Level{Name: "x", Total: 3}
	d.wants(1, x)
	first := d.effects.submit[0].Key
	x.Had = 1
	d.wants(1, x) // one of three runs
	began := a.jobs.levels["x"].since
	d.now = began
	var at []time.Duration
	for submitted := len(d.effects.submit); d.now.Sub(began) < 20*time.Second; d.now = d.now.Add(100 * time.Millisecond) {
		a.lastContact = d.now
		d.tick(d.now)
		if n := len(d.effects.submit); n > submitted {
			submitted, at = n, append(at, d.now.Sub(began))
		}
	}
	if want := "[1s 2s 4s 8s 16s]"; fmt.Sprint(at) != want {
		t.Errorf("placed again after %v, want %v", at, want)
	}
	if c := d.effects.withdraw; len(c) != 5 || c[0] != (withdrawal{first, 2}) || c[1].tasks != 0 {
		t.Errorf("withdrawn: %v", c)
	}
	l := a.jobs.levels["x"]
	if l.outstanding() != 2 || l.live() != 3 {
		t.Errorf("%d wait of %d: %+v", l.outstanding(), l.live(), l)
	}
	x.Had = 2
	d.wants(1, x)
	if l.lastReplaced != 0 || l.overdue(d.now) {
		t.Error("a grant did not reset the interval")
	}
	d.groups = 1
	before := len(d.effects.submit)
	a.lastContact = d.now.Add(time.Minute)
	if d.tick(d.now.Add(time.Minute)); len(d.effects.submit) != before {
		t.Error("tasks were placed again although there is one group")
	}
}
