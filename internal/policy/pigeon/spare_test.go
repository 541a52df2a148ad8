package pigeon

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// groupsOf returns masters that help each other, with workers that run their tasks
// until the test ends them. Messages arrive at once, in order.
type groupsOf struct {
	t           *rapid.T
	now         sched.Time
	distributor *Distributor
	masters     []*Master
	slots       [][]slotOf // by master
	jobs        uint64
}

type slotOf struct {
	seq  uint64
	runs *sched.Message
}

type letter struct {
	from, to sched.Addr
	m        sched.Message
}

func masterAt(id int) sched.Addr { return sched.Addr{Role: sched.Master, ID: int32(id)} } //nolint:gosec // few

func workerAt(id int) sched.Addr { return sched.Addr{Role: sched.Worker, ID: int32(id)} } //nolint:gosec // few

func newGroups(t *rapid.T, sizes ...int) *groupsOf {
	g := &groupsOf{t: t, distributor: NewDistributorWith(sched.DistributorConfig{Seed: 1}, DefaultOptions())}
	for id := range sizes {
		g.masters = append(g.masters, NewMasterWith(sched.MasterConfig{
			Self: masterAt(id), Seed: 1, Params: sched.Params{Cutoff: sched.Second, Reserved: 0.3},
		}, DefaultOptions()))
		g.slots = append(g.slots, make([]slotOf, sizes[id]))
	}
	for id, n := range sizes {
		for other := range sizes {
			g.post(letter{to: masterAt(id), m: sched.Message{Kind: sched.MasterUp, Peer: masterAt(other), Serves: []string{""}}})
		}
		g.post(letter{m: sched.Message{Kind: sched.MasterUp, Peer: masterAt(id), Serves: []string{""}}})
		for w := range n {
			g.post(letter{to: masterAt(id), m: sched.Message{Kind: sched.WorkerUp, Peer: workerAt(w), Node: "n", Serves: []string{""}}})
		}
	}
	return g
}

// post delivers a message, and all messages that follow from it.
func (g *groupsOf) post(first letter) {
	for mail := []letter{first}; len(mail) > 0; mail = mail[1:] {
		var out sched.Actions
		l := &mail[0]
		g.now += sched.Millisecond
		if l.to.Role == sched.Master {
			s := g.masters[l.to.ID]
			s.Step(g.now, l.from, &l.m, &out)
			if err := s.Valid(); err != nil {
				g.t.Fatalf("after %s: %v", sched.Describe(&l.m), err)
			}
		} else {
			g.distributor.Step(g.now, l.from, &l.m, &out)
		}
		for _, a := range out.List() {
			switch {
			case a.Kind != sched.Send:
			case a.Msg.Kind == sched.Launch:
				m := a.Msg
				g.slots[l.to.ID][a.To.ID].runs = &m
			case a.To.Role == sched.Master || a.To == (sched.Addr{Role: sched.Distributor}):
				mail = append(mail, letter{l.to, a.To, a.Msg})
			}
		}
	}
}

func (g *groupsOf) submit(class sched.Class, tasks int32) {
	g.jobs++
	g.post(letter{m: sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: g.jobs}, Key: g.jobs, Class: class, Count: tasks, Estimate: sched.Second}})
}

// end ends what a worker runs.
func (g *groupsOf) end(group, w int) {
	s := &g.slots[group][w]
	m := s.runs
	if m == nil {
		return
	}
	s.seq, s.runs = s.seq+2, nil
	g.post(letter{from: workerAt(w), m: sched.Message{Kind: sched.Report, Job: m.Job, First: m.First, Attempt: m.Attempt}})
	g.post(letter{workerAt(w), masterAt(group), sched.Message{Kind: sched.Idle, Seq: s.seq}})
}

// A master omits a notice only when it would change nothing: wherever it assumes that a
// flag for its group is set, the flag is set, for the classes that it assumes.
func TestOmittedNoticesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGroups(t, 3, 4, 2, 3)
		group := rapid.IntRange(0, 3)
		t.Repeat(map[string]func(*rapid.T){
			"job": func(t *rapid.T) {
				g.submit(sched.Class(rapid.IntRange(0, 1).Draw(t, "class")), rapid.Int32Range(1, 12).Draw(t, "tasks"))
			},
			"end": func(t *rapid.T) {
				at := group.Draw(t, "group")
				g.end(at, rapid.IntRange(0, len(g.slots[at])-1).Draw(t, "worker"))
			},
			"time": func(t *rapid.T) { g.now += sched.Time(rapid.IntRange(0, 8).Draw(t, "cutoffs")) * sched.Second },
			"": func(t *rapid.T) {
				for a, s := range g.masters {
					for b, other := range g.masters {
						if a == b {
							continue
						}
						sent, flag := extended(s).peers[b].announced, extended(other).peers[a].flag
						if sent.known && sent.service != nil && g.now < sent.until && (!flag[sched.Short] || sent.general && !flag[sched.Long]) {
							t.Fatalf("master %d assumes its flag at %d to be set (general: %v), and it is %v", a, b, sent.general, flag)
						}
					}
				}
			},
		})
	})
}

// The notice of a worker whose node drains, or cannot be reached, would replace that of one that
// takes tasks.
func TestWorkerThatServesNothingIsNotSpare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGroups(t, 1, 2)
		for w := range 2 { // known to each other
			g.post(letter{to: masterAt(1), from: masterAt(0), m: sched.Message{Kind: sched.Spare, Serves: []string{""}}})
			g.post(letter{to: masterAt(1), m: sched.Message{Kind: sched.WorkerServes, Peer: workerAt(w), Serves: []string{}}})
			x, ok := g.masters[0].hooks.(*extension)
			if !ok {
				t.Fatal("the policy has no extension")
			}
			if p := &x.peers[1]; p.flag[sched.Short] && len(p.serves) == 0 {
				t.Fatalf("with %d workers that drain, a worker that serves nothing is taken for spare", w+1)
			}
		}
	})
}
