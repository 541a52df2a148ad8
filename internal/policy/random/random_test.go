package random_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/random"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Each task of a job is offered once, to workers that differ from job to job, and a
// worker that asks gets the job's next task.
func TestOneReservationPerTask(t *testing.T) {
	d := random.Policy().NewDistributor(sched.DistributorConfig{Seed: 1, Params: sched.Params{Cutoff: sched.Second}})
	members := make([]sched.Member, 4)
	for i := range members {
		members[i].Worker = sched.Addr{Role: sched.Worker, ID: int32(i)}
	}
	var out sched.Actions
	d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.Members, More: &sched.More{Members: members}}, &out)
	drawn := map[sched.Addr]int{}
	for job := range uint64(100) {
		out.Reset()
		d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: job}, Key: job, Count: 3}, &out)
		if len(out.List()) != 3 {
			t.Fatalf("job %d of 3 tasks is offered by %d messages", job, len(out.List()))
		}
		for _, a := range out.List() {
			if a.Msg.Kind != sched.Probe || a.Msg.Job.Lo != job {
				t.Fatalf("job %d: %s", job, sched.DescribeAction(&a))
			}
			drawn[a.To]++
		}
	}
	for _, m := range members {
		if n := drawn[m.Worker]; n < 50 || n > 100 { // 75 on average
			t.Errorf("%v got %d of 300 reservations", m.Worker, n)
		}
	}
	for task := range int32(4) {
		out.Reset()
		d.Step(0, members[0].Worker, &sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 7}, Seq: 1}, &out)
		want := sched.Launch
		if task == 3 {
			want = sched.NoTask
		}
		if m := out.List()[0].Msg; m.Kind != want || (want == sched.Launch && m.First != task) {
			t.Errorf("request %d is answered by %s", task, sched.Describe(&m))
		}
	}
}
