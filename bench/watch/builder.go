package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// builder builds a recording from the events of a history.
type builder struct {
	options Options
	speedup float64
	until   int64

	first, last int64
	seen        bool
	jobs        map[string]int
	list        []jobState
	tasks       map[taskKey]*taskState
	workers     *workerIndex
	runs        []Run
	stops       []Stop
	done        []Job
	doneJobs    []int // of done
}

type jobState struct {
	submitted int64
	ran       int64 // by all its tasks
	ended     int   // tasks that ended
	tasks     []*taskState
}

type taskKey struct{ job, task int }

type taskState struct {
	ready    int64 // it waits since
	launched int64 // -1: unknown
	master   bool  // a master launched it
	group    int
	worker   int
	since    int64 // it runs, or is suspended, since
	ran      int64
	state    byte // 'w'aiting, 'r'unning, 's'uspended, 'e'nded
	run      int  // its latest in builder.runs
}

func newBuilder(o Options) *builder {
	return &builder{options: o, speedup: cmp.Or(o.Speedup, 1), until: o.Until.Nanoseconds(), jobs: map[string]int{}, tasks: map[taskKey]*taskState{}, workers: newWorkerIndex(o.Workers)}
}

func (b *builder) add(e measure.Event) {
	if !b.seen {
		b.first, b.seen = e.Time, true
	}
	b.last = max(b.last, e.Time)
	at := e.Time
	j, known := b.jobs[e.Job]
	if !known {
		j = len(b.list)
		b.jobs[e.Job] = j
		b.list = append(b.list, jobState{submitted: at})
	}
	if e.Task == measure.OfJob {
		switch e.Event {
		case measure.Submitted:
			b.list[j].submitted = at
		case measure.Completed:
			b.jobDone(j, at)
		case measure.Failed:
			b.jobDone(j, at)
			b.stopTasks(j, at)
		case measure.Cancelled:
			b.stopTasks(j, at)
		}
		return
	}
	t := b.task(j, e.Task)
	switch e.Event {
	case measure.Launched:
		t.launched = at
		t.group, t.master = number(e.Where, "master ")
	case measure.Started:
		b.start(j, t, at, e.Where)
	case measure.Suspended:
		if t.state == 'r' {
			b.halt(t, at)
			t.state, t.since = 's', at
		}
	case measure.Resumed:
		if t.state == 's' {
			b.stops = append(b.stops, Stop{t.worker, t.since, at})
			b.run(j, t, at, 0, true)
		}
	case measure.Ended, measure.Lost, measure.Reported:
		b.end(j, t, at, e.Event != measure.Lost)
	}
}

// jobDone draws the end of a job.
func (b *builder) jobDone(job int, at int64) {
	b.done = append(b.done, Job{Completed: at, Took: at - b.list[job].submitted})
	b.doneJobs = append(b.doneJobs, job)
}

// stopTasks ends what still runs of a job that ended early: a frontend's history does not say when
// its nodes killed it.
func (b *builder) stopTasks(job int, at int64) {
	for _, t := range b.list[job].tasks {
		b.end(job, t, at, true)
	}
}

func (b *builder) task(job, task int) *taskState {
	key := taskKey{job, task}
	t := b.tasks[key]
	if t == nil {
		t = &taskState{ready: b.list[job].submitted, launched: -1, group: -1, state: 'w'}
		b.tasks[key] = t
		b.list[job].tasks = append(b.list[job].tasks, t)
	}
	return t
}

func (b *builder) start(job int, t *taskState, at int64, where string) {
	if t.state == 'r' || t.state == 's' { // its attempt was lost without an event
		b.end(job, t, at, false)
	}
	t.worker = b.workers.find(strings.TrimPrefix(where, "worker "))
	atWorker := b.options.Queues == AtWorker
	if t.launched >= 0 {
		if t.master {
			b.workers.join(t.worker, t.group)
		}
		if b.options.Queues == Auto {
			// It waited where it spent more time: before or after the launch.
			atWorker = !t.master || at-t.launched > t.launched-t.ready && at-t.launched > b.instant()
		}
	}
	b.run(job, t, at, max(0, at-t.ready), atWorker)
}

// instant is too short to be seen: a launch in transit does not count as waiting at a worker.
func (b *builder) instant() int64 { return b.options.Cutoff.Nanoseconds() / 20 }

func (b *builder) run(job int, t *taskState, at, wait int64, atWorker bool) {
	t.state, t.since, t.run = 'r', at, len(b.runs)
	b.runs = append(b.runs, Run{Worker: t.worker, Start: at, End: -1, Wait: wait, AtWorker: atWorker, job: job})
}

// halt closes the stretch in which a task runs.
func (b *builder) halt(t *taskState, at int64) {
	b.runs[t.run].End = at
	t.ran += at - t.since
}

// end ends an attempt; counts is set for the task's last one.
func (b *builder) end(job int, t *taskState, at int64, counts bool) {
	switch t.state {
	case 'r':
		b.halt(t, at)
	case 's':
		b.stops = append(b.stops, Stop{t.worker, t.since, at})
	default:
		return
	}
	t.state, t.ready, t.launched, t.master = 'e', at, -1, false
	if counts {
		b.list[job].ran += t.ran
		b.list[job].ended++
	}
	t.ran = 0
}

// recording ends open intervals and sorts everything.
func (b *builder) recording(name string) *Recording {
	for key, t := range b.tasks { // they are independent of each other
		b.end(key.job, t, b.last, true)
	}
	r := &Recording{Title: cmp.Or(b.options.Title, name), Span: max(1, b.last-b.first), Runs: b.runs, Stops: b.stops, Jobs: b.done}
	var place []int
	r.Workers, place = b.workers.inOrder()
	atWorkers, waited := 0, 0
	for i := range r.Runs {
		run := &r.Runs[i]
		run.Worker, run.Long = place[run.Worker], b.long(run.job)
		run.Start, run.End = run.Start-b.first, run.End-b.first
		if run.Wait > b.instant() {
			waited++
			if run.AtWorker {
				atWorkers++
			}
		}
	}
	for i := range r.Stops {
		s := &r.Stops[i]
		s.Worker, s.From, s.To = place[s.Worker], s.From-b.first, s.To-b.first
	}
	for i := range r.Jobs {
		r.Jobs[i].Completed -= b.first
		r.Jobs[i].Long = b.long(b.doneJobs[i])
	}
	if waited > 0 {
		r.AtWorkers = float64(atWorkers) / float64(waited)
	}
	slices.SortStableFunc(r.Runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Worker, b.Worker)) })
	slices.SortFunc(r.Stops, func(a, b Stop) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Worker, b.Worker)) })
	slices.SortStableFunc(r.Jobs, func(a, b Job) int { return cmp.Compare(a.Completed, b.Completed) })
	return r
}

func (b *builder) long(job int) bool {
	j := &b.list[job]
	return j.ran > b.options.Cutoff.Nanoseconds()*int64(max(1, j.ended))
}
