package fairness_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	groups       = 3
	groupWorkers = 8
)

// spread is the masters of three groups of 8 workers. Each task takes one second.
type spread struct {
	t       *testing.T
	masters [groups]sched.MasterCore
	now     sched.Time
	seq     [groups]uint64
	busy    [groups]map[int32]string // owner of the task of each worker
	waiting [groups]map[string]int
	jobs    uint64
	owner   map[uint64]string
	ran     map[string]int // tasks that ended
	random  uint64
}

func newSpread(t *testing.T) *spread {
	s := &spread{t: t, owner: map[uint64]string{}, ran: map[string]int{}, random: 1}
	for g := range s.masters {
		s.masters[g] = pigeon.NewMaster(sched.MasterConfig{Params: sched.Params{Cutoff: 10 * sched.Second}})
		s.busy[g], s.waiting[g] = map[int32]string{}, map[string]int{}
		for w := range int32(groupWorkers) {
			s.step(g, sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: w}, Node: "n", Serves: []string{""}, Fixed: true})
		}
	}
	return s
}

func (s *spread) step(g int, from sched.Addr, m *sched.Message) {
	s.t.Helper()
	var out sched.Actions
	s.masters[g].Step(s.now, from, m, &out)
	for _, a := range out.List() {
		if a.Msg.Kind == sched.Launch {
			owner := s.owner[a.Msg.Job.Lo]
			s.busy[g][a.To.ID] = owner
			s.waiting[g][owner]--
		}
	}
	if err := s.masters[g].Valid(); err != nil {
		s.t.Fatal(err)
	}
}

// submit sends tasks of one job of an owner to a group.
func (s *spread) submit(g int, owner string, tasks int) {
	s.jobs++
	s.owner[s.jobs] = owner
	s.waiting[g][owner] += tasks
	from := sched.Addr{Role: sched.Distributor}
	s.step(g, from, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: s.jobs}, Owner: owner, Count: int32(tasks), Attempt: 1, Distributor: from, Estimate: sched.Second})
}

// one submits a job of one task to the group that its key draws.
func (s *spread) one(owner string) {
	s.random++
	s.submit(sched.Rand(1, s.random).Perm(groups)[0], owner, 1)
}

// second lets all tasks that run end. ended is called for each, after its worker has the next.
func (s *spread) second(ended func(owner string)) {
	s.now += sched.Second
	for g := range s.masters {
		done := s.busy[g]
		s.busy[g] = map[int32]string{}
		s.seq[g] += 2
		for w := range int32(groupWorkers) {
			owner, ran := done[w]
			if !ran {
				continue
			}
			s.ran[owner]++
			s.step(g, sched.Addr{Role: sched.Worker, ID: w}, &sched.Message{Kind: sched.Idle, Seq: s.seq[g]})
			ended(owner)
		}
	}
}

// TestSpreadOverGroups: each group is fair by itself. The whole is fair between an owner of
// large jobs and one of jobs of one task, which each draw a group, when some of its tasks wait
// in every group; an owner with no more tasks than slots that it is entitled to gets less,
// because the draws leave some groups without enough of them; and one whose tasks can go to
// one group only gets its part of that group (docs/shares.md).
func TestSpreadOverGroups(t *testing.T) {
	const seconds = 2000
	for _, c := range []struct {
		name        string
		outstanding int     // tasks of the owner of jobs of one task, waiting or running; 0: its tasks go to group 0
		least, most float64 // of the slots that it is entitled to of the whole: 12 of 24, and 8 if it can use no others
	}{
		{"four times as many tasks as its share", 48, 0.95, 1.001},
		{"twice as many tasks as its share", 24, 0.9, 0.98},
		{"as many tasks as its share", 12, 0.65, 0.85},
		{"one group", 0, 0.499, 0.501},
	} {
		s := newSpread(t)
		entitled := 12.0
		for range c.outstanding {
			s.one("small")
		}
		if c.outstanding == 0 {
			entitled = groupWorkers
		}
		for range seconds {
			for g := range groups {
				if s.waiting[g]["large"] < 100 {
					s.submit(g, "large", 100)
				}
				if c.outstanding == 0 && g == 0 && s.waiting[g]["small"] < 100 {
					s.submit(g, "small", 100)
				}
			}
			s.second(func(owner string) {
				if owner == "small" && c.outstanding > 0 {
					s.one("small")
				}
			})
		}
		got := float64(s.ran["small"]) / (entitled * seconds)
		t.Logf("%s: %.3f of its share", c.name, got)
		if got < c.least || got > c.most || s.ran["small"]+s.ran["large"] < (seconds-2)*groups*groupWorkers {
			t.Errorf("%s: %.3f of its share, want %.3f to %.3f; %d tasks of both ran", c.name, got, c.least, c.most, s.ran["small"]+s.ran["large"])
		}
	}
}
