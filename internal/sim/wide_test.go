package sim_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// demanding returns jobs of which a third are gangs, and a third have tasks of several slots.
func demanding(seed uint64, jobs int) (list []sim.Job, gangs int) {
	r := sched.Rand(seed, 1)
	at := sched.Time(0)
	for line := range jobs {
		at += sched.Time(r.Int64N(int64(60 * sched.Millisecond)))
		j := sim.Job{Line: line + 1, Arrival: at, Long: r.IntN(2) == 0, Durations: make([]int64, 1+r.IntN(3))}
		if r.IntN(3) > 0 {
			j.Estimate = sched.Time(1 + r.Int64N(int64(100*sched.Millisecond)))
		}
		for i := range j.Durations {
			j.Durations[i] = r.Int64N(int64(100 * sched.Millisecond))
		}
		switch r.IntN(3) {
		case 0:
			j.Gang, j.Slots = true, int32(r.IntN(3))
			gangs++
		case 1:
			j.Slots = int32(2 + r.IntN(3))
		}
		list = append(list, j)
	}
	return list, gangs
}

// No gang and no wide task wait for each other for ever, under any policy that knows them, and the
// same seed does the same again: a run that comes to rest with unfinished jobs fails.
func TestGangsEnd(t *testing.T) {
	t.Parallel()
	runs := uint64(120)
	if testing.Short() {
		runs = 24
	}
	policies := []string{"pigeon", "pigeon-sort", "pigeon-x", "fifo", "priority", "static"}
	for seed := range runs {
		spec := policies[seed%uint64(len(policies))]
		jobs, gangs := demanding(seed, 600)
		cfg := under(t, spec, sim.Config{
			Params: sched.Params{Cutoff: 50 * sched.Millisecond, Reserved: 0.1}, Groups: []int{16, 12}, NodeSlots: []int{8, 4}, Frontends: 3,
			Delay: 500 * sched.Microsecond, Seed: seed,
		})
		got, err := sim.Run(t.Context(), jobs, cfg)
		if err != nil || got.Completed != len(jobs) {
			t.Fatalf("%s, seed %d, %d gangs: %+v, %v", spec, seed, gangs, got, err)
		}
		if seed < 6 {
			again, err := sim.Run(t.Context(), jobs, cfg)
			if err != nil || again.Makespan != got.Makespan || again.Events != got.Events {
				t.Errorf("%s: the same seed came to another end, %v", spec, err)
			}
		}
	}
}

// A demand that no node, or no policy, can meet is refused before anything runs.
func TestDemandsThatNothingMeets(t *testing.T) {
	wide := sim.Job{Line: 1, Durations: []int64{1}, Slots: 5, Long: true}
	gang := sim.Job{Line: 1, Durations: make([]int64, 20), Gang: true, Long: true}
	for _, c := range []struct {
		spec string
		job  sim.Job
		fits bool
	}{
		{"pigeon", wide, true}, {"pigeon", gang, false}, {"fifo", gang, true}, {"sparrow", wide, false}, {"kairos", wide, false},
		{"pigeon", sim.Job{Line: 1, Durations: []int64{1}, Slots: 9}, false},
	} {
		cfg := under(t, c.spec, sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{16, 16}, NodeSlots: []int{8}, Frontends: 1})
		if _, err := sim.Run(t.Context(), []sim.Job{c.job}, cfg); (err == nil) != c.fits {
			t.Errorf("%s, %d tasks of %d slots: %v", c.spec, len(c.job.Durations), c.job.Slots, err)
		}
	}
}
