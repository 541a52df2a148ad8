package sim

import (
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// learning is what frontends learn from the jobs that went through them, each for itself, as
// the daemons do.
type learning struct {
	work     []Job
	learners []*classes.Learner // by frontend
	runs     []classes.Run      // by job
	short    []bool             // the class that each job got
}

func newLearning(work []Job, cfg *Config) *learning {
	l := &learning{work: work, runs: make([]classes.Run, len(work)), short: make([]bool, len(work))}
	for range cfg.Frontends {
		l.learners = append(l.learners, classes.New(classes.Settings{Cutoff: cfg.Params.Cutoff}))
	}
	return l
}

// decide sets the class and the estimate of a job that is submitted.
func (l *learning) decide(now sched.Time, job, frontend int, m *sched.Message) {
	j := &l.work[job]
	asked := classes.Job{Owner: j.Owner, Work: j.Name, Declared: !j.Undeclared, Class: m.Class, Estimate: m.Estimate}
	d := l.learners[frontend].Decide(now, &asked)
	m.Class, m.Estimate, m.Marks = d.Class, d.Estimate, m.Marks|d.Marks()
	l.runs[job], l.short[job] = l.learners[frontend].Begin(&asked, &d), d.Class == sched.Short
}

// ended is called with each record of a frontend. A task of a job whose class was changed while
// it ran counts in the class that the job was submitted with.
func (l *learning) ended(now sched.Time, frontend, job int, m *sched.Message) {
	switch m.Kind {
	case sched.TaskEnded:
		l.learners[frontend].TaskEnded(now, &l.runs[job], sched.Time(l.work[job].Durations[m.First]), m.Outcome == sched.Done, l.short[job])
	case sched.JobEnded:
		l.learners[frontend].JobEnded(&l.runs[job])
	}
}
