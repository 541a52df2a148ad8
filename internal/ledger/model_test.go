package ledger_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// checked is a ledger with a simple model of its state, and its journal.
type checked struct {
	led     *ledger.Ledger
	jobs    []*account // in order of arrival
	journal []sched.Message
	out     sched.Actions
	life    int32 // the first number of this life
	now     sched.Time
}

// next is the number of the attempt after the one that counts.
func (b *checked) next(t ledger.Task) int32 { return max(t.Attempt+1, b.life) }

// possible reports whether a number can be that of an attempt of the job.
func (b *checked) possible(a *account, m *sched.Message) bool {
	first := max(1, a.submit.Attempt)
	return m.Attempt >= first && m.Attempt < max(first, b.life)+sched.AttemptsPerLife
}

type account struct {
	submit  sched.Message
	class   sched.Class
	turns   int
	tasks   []ledger.Task
	written []ledger.Task // attempts and places as the journal has them
	reasons []string      // of failures, in order
	losses  [][]lostAt    // by task: at most one for each node
	kept    [][]lostAt    // the same as the journal has them
	due     []sched.Time  // by task: until when it waits for its next attempt
	ended   bool
}

// lostAt is the loss of a node that counts against a task.
type lostAt struct {
	node    string
	attempt int32
	at      sched.Time
}

// flush moves what was persisted to the journal.
func (b *checked) flush(t *rapid.T) {
	for _, a := range b.out.List() {
		switch a.Kind {
		case sched.Persist:
			b.write(a.Msg)
		case sched.Forget:
		case sched.Timer:
			if a.Token != ledger.NextDue || a.At <= b.now {
				t.Fatalf("a timer for %d with token %d, now %d", a.At, a.Token, b.now)
			}
		default:
			t.Fatalf("the ledger decides: %s", sched.DescribeAction(&a))
		}
	}
	b.out.Reset()
}

// write appends a record to the journal.
func (b *checked) write(m sched.Message) {
	b.journal = append(b.journal, m)
	for _, a := range b.jobs {
		switch {
		case a.submit.Job != m.Job:
		case m.Kind == sched.NotLost:
			a.kept[m.First] = without(a.kept[m.First], m.Node)
		case m.Kind == sched.NewAttempt:
			if m.Outcome == sched.Lost && m.Node != "" {
				a.kept[m.First] = append(without(a.kept[m.First], m.Node), lostAt{m.Node, a.written[m.First].Attempt, 0})
			}
			for i := range max(1, m.Count) {
				a.written[m.First+i].Attempt = m.Attempt
			}
		case m.Kind == sched.Placed:
			a.written[m.First].Place = int16(m.Peer.ID)
			a.written[m.First].Marks |= m.Marks & sched.Moved
		}
	}
}

func without(list []lostAt, node string) []lostAt {
	return slices.DeleteFunc(slices.Clone(list), func(l lostAt) bool { return l.node == node })
}

func (b *checked) submit(t *rapid.T) {
	m := sched.Message{
		Kind: sched.Submit, Job: sched.JobID{Lo: rapid.Uint64Range(1, 6).Draw(t, "job")},
		Count: rapid.Int32Range(-1, 5).Draw(t, "count"), Retries: uint8(rapid.IntRange(0, 2).Draw(t, "retries")),
		Class: sched.Class(rapid.IntRange(0, 1).Draw(t, "class")), Attempt: rapid.SampledFrom([]int32{0, b.life}).Draw(t, "first"),
	}
	known := slices.ContainsFunc(b.jobs, func(a *account) bool { return a.submit.Job == m.Job })
	j := b.led.Submit(0, &m)
	if (j != nil) != (!known && m.Count > 0) {
		t.Fatalf("Submit of a job that is known (%v) with %d tasks returns %v", known, m.Count, j)
	}
	if j != nil {
		a := &account{submit: m, class: m.Class, tasks: make([]ledger.Task, m.Count), losses: make([][]lostAt, m.Count), kept: make([][]lostAt, m.Count), due: make([]sched.Time, m.Count)}
		for i := range a.tasks {
			a.tasks[i] = ledger.Task{Attempt: max(1, m.Attempt), Place: ledger.Nowhere}
		}
		a.written = slices.Clone(a.tasks)
		b.jobs = append(b.jobs, a)
		b.journal = append(b.journal, m)
	}
}

// any draws a task, mostly of a job that is known, and an attempt of it.
func (b *checked) any(t *rapid.T) (*account, sched.Message) {
	b.now += sched.Time(rapid.Int64Range(0, 200).Draw(t, "later")) * sched.Second / 10
	m := sched.Message{Job: sched.JobID{Lo: rapid.Uint64Range(1, 7).Draw(t, "job")}, First: rapid.Int32Range(-1, 5).Draw(t, "task"),
		Attempt: rapid.Int32Range(0, 4).Draw(t, "attempt"), Reason: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "reason"),
		Node: rapid.SampledFrom([]string{"", "n1", "n2", "n3", "n4"}).Draw(t, "node")}
	if len(b.jobs) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		a := b.jobs[rapid.IntRange(0, len(b.jobs)-1).Draw(t, "known job")]
		m.Job, m.First = a.submit.Job, rapid.Int32Range(0, a.submit.Count-1).Draw(t, "task of it")
		m.Attempt = max(0, a.tasks[m.First].Attempt+rapid.SampledFrom([]int32{0, 0, 0, -1, 1, -sched.AttemptsPerLife, 2 * sched.AttemptsPerLife}).Draw(t, "other"))
	}
	for _, a := range b.jobs {
		if a.submit.Job == m.Job && !a.ended && m.First >= 0 && int(m.First) < len(a.tasks) {
			return a, m
		}
	}
	return nil, m
}

func (b *checked) fail(t *rapid.T, a *account, m *sched.Message, o sched.Outcome) {
	task := &a.tasks[m.First]
	task.Outcome = o
	if o == sched.Failed {
		a.reasons = append(a.reasons, m.Reason)
	}
	if !slices.ContainsFunc(a.tasks, func(x ledger.Task) bool { return x.Outcome == sched.Unfinished }) {
		a.ended = true
		b.jobs = slices.DeleteFunc(b.jobs, func(x *account) bool { return x == a })
	}
}

// window is how long a loss counts here.
const window = 60 * sched.Second

// lose is what the loss of the attempt that counts comes to.
func (b *checked) lose(t *rapid.T, a *account, m *sched.Message) ledger.Verdict {
	task, list := &a.tasks[m.First], a.losses[m.First]
	task.Losses++
	list = slices.DeleteFunc(list, func(l lostAt) bool { return b.now-l.at > window })
	if m.Node != "" {
		list = append(without(list, m.Node), lostAt{m.Node, m.Attempt, b.now})
	}
	a.losses[m.First] = list
	if len(list) == ledger.MaxLosses {
		for i, l := range list {
			if i > 0 && l.node == list[i-1].node {
				t.Fatalf("failed by the nodes %v", list)
			}
		}
		b.fail(t, a, m, sched.Failed)
		return ledger.Accepted
	}
	task.Attempt = b.next(*task)
	delay := sched.Time(0)
	if task.Losses > 1 {
		delay = min(sched.Second<<min(task.Losses-2, 10), 30*sched.Second)
	}
	return b.later(a, m.First, delay)
}

// later is when a new attempt may be sent.
func (b *checked) later(a *account, task int32, delay sched.Time) ledger.Verdict {
	if delay == 0 {
		return ledger.Again
	}
	a.tasks[task].Waits, a.due[task] = true, b.now+delay
	return ledger.Later
}

// alive takes back the loss of an attempt.
func (a *account) alive(m *sched.Message) {
	list := a.losses[m.First]
	if i := slices.IndexFunc(list, func(l lostAt) bool { return l.attempt == m.Attempt }); i >= 0 {
		a.losses[m.First] = slices.Delete(list, i, i+1)
		a.tasks[m.First].Losses--
	}
}

// comeBack is a node that reports an attempt again.
func (b *checked) comeBack(t *rapid.T) {
	a, m := b.any(t)
	if task := b.open(a, &m); task != nil {
		m.Attempt = rapid.Int32Range(1, task.Attempt).Draw(t, "earlier")
		a.alive(&m)
	}
	b.led.Alive(m.AttemptID(), &b.out)
}

// wake makes the ledger return the tasks whose wait is over.
func (b *checked) wake(t *rapid.T) {
	unit := rapid.SampledFrom([]sched.Time{sched.Millisecond, sched.Second}).Draw(t, "unit")
	b.now += sched.Time(rapid.Int64Range(0, 40).Draw(t, "units")) * unit
	for j, task := b.led.Due(b.now, &b.out); j != nil; j, task = b.led.Due(b.now, &b.out) {
		i := slices.IndexFunc(b.jobs, func(a *account) bool { return a.submit.Job == j.ID })
		if i < 0 || !b.jobs[i].tasks[task].Waits || b.jobs[i].due[task] > b.now {
			t.Fatalf("task %d of job %s is due", task, j.ID)
		}
		b.jobs[i].tasks[task].Waits = false
	}
	for _, a := range b.jobs {
		for task := range a.tasks {
			if a.tasks[task].Outcome == sched.Unfinished && a.tasks[task].Waits && a.due[task] <= b.now {
				t.Fatalf("task %d of job %s is not due", task, a.submit.Job)
			}
		}
	}
}

func (b *checked) report(t *rapid.T) {
	a, m := b.any(t)
	m.Outcome = rapid.SampledFrom([]sched.Outcome{sched.Done, sched.Failed, sched.Killed, sched.Lost, sched.Yielded, sched.Unfinished}).Draw(t, "outcome")
	want, repeated := ledger.Ignored, b.led.Repeated()
	task := b.open(a, &m)
	if task != nil && !b.possible(a, &m) {
		task = nil
	}
	if task != nil {
		task.Attempt = max(task.Attempt, m.Attempt)
	}
	switch {
	case task == nil:
	case m.Outcome == sched.Done:
		want = ledger.Accepted
		b.fail(t, a, &m, sched.Done)
	case m.Attempt != task.Attempt || task.Waits:
		a.alive(&m)
	case m.Outcome == sched.Yielded:
		want = ledger.Again
		task.Attempt = b.next(*task)
	case m.Outcome != sched.Failed:
		want = b.lose(t, a, &m)
	case task.Retried < a.submit.Retries:
		task.Retried++
		task.Attempt = b.next(*task)
		delay := sched.Time(0)
		if task.Retried > 1 {
			delay = min(25*sched.Millisecond<<min(task.Retried-2, 10), 10*sched.Second)
		}
		want = b.later(a, m.First, delay)
	default:
		want = ledger.Accepted
		b.fail(t, a, &m, sched.Failed)
	}
	if _, got := b.led.Report(b.now, &m, &b.out); got != want {
		t.Fatalf("%s returns verdict %d, want %d", sched.Describe(&m), got, want)
	}
	if (b.led.Repeated() > repeated) != (want == ledger.Ignored) {
		t.Fatalf("verdict %d, and %d results were repeated", want, b.led.Repeated()-repeated)
	}
}

// open returns the task of a message when it has no result yet.
func (b *checked) open(a *account, m *sched.Message) *ledger.Task {
	if a == nil || a.tasks[m.First].Outcome != sched.Unfinished {
		return nil
	}
	return &a.tasks[m.First]
}

func (b *checked) lost(t *rapid.T) {
	a, m := b.any(t)
	m.Outcome = rapid.SampledFrom([]sched.Outcome{sched.Unfinished, sched.Unfinished, sched.Yielded}).Draw(t, "outcome")
	want := ledger.Ignored
	if task := b.open(a, &m); task != nil && b.possible(a, &m) && m.Attempt >= task.Attempt {
		task.Attempt = m.Attempt
		switch {
		case task.Waits:
		case m.Outcome == sched.Yielded:
			task.Attempt = b.next(*task)
			want = ledger.Again
		default:
			want = b.lose(t, a, &m)
		}
	}
	if _, got := b.led.Lost(b.now, &m, &b.out); got != want {
		t.Fatalf("the loss of %s returns verdict %d, want %d", m.AttemptID(), got, want)
	}
}

// place sends a task to a group as a distributor does: with a record.
func (b *checked) place(t *rapid.T) {
	a, m := b.any(t)
	if task := b.open(a, &m); task != nil {
		task.Place = int16(rapid.IntRange(0, 3).Draw(t, "place"))
		j, marks := b.led.Job(m.Job), sched.Marks(0)
		j.Place(m.First, task.Place)
		if rapid.Bool().Draw(t, "moved") {
			task.Marks |= sched.Moved
		}
		if task.Marks.Has(sched.Moved) {
			j.Tasks[m.First].Marks, marks = sched.Moved, sched.Moved
		}
		b.write(sched.Message{
			Kind: sched.Placed, Job: m.Job, First: m.First, Count: 1, Attempt: task.Attempt, Marks: marks,
			Peer: sched.Addr{Role: sched.Master, ID: int32(task.Place)},
		})
	}
}

// giveBack takes a task back from a group.
func (b *checked) giveBack(t *rapid.T) {
	a, m := b.any(t)
	from := int16(rapid.IntRange(0, 3).Draw(t, "place"))
	if a == nil {
		return
	}
	task := b.open(a, &m)
	want := task != nil && !task.Waits && task.Place == from && m.Attempt >= task.Attempt && b.possible(a, &m)
	if want {
		task.Attempt, task.Place = m.Attempt, ledger.Nowhere
	}
	if got := b.led.Return(b.led.Job(m.Job), m.First, m.Attempt, from); got != want {
		t.Fatalf("Return returns %v, want %v", got, want)
	}
}

// reclass changes the class of a job: short counts once, of a job that was
// long from the start.
func (b *checked) reclass(t *rapid.T) {
	a, m := b.any(t)
	if a == nil {
		return
	}
	c := sched.Class(rapid.IntRange(0, 1).Draw(t, "class"))
	want := c != a.class && (c == sched.Long || a.turns == 0)
	if want {
		a.class = c
		a.turns++
	}
	if got := b.led.Reclass(b.led.Job(m.Job), c, &b.out); got != want {
		t.Fatalf("Reclass to %s returns %v, want %v", c, got, want)
	}
}

// renumber begins new attempts of all tasks that are alike from one on.
func (b *checked) renumber(t *rapid.T) {
	a, m := b.any(t)
	task := b.open(a, &m)
	if task == nil {
		return
	}
	j, count := b.led.Job(m.Job), int32(0)
	for i := m.First; j.Has(i) && j.Tasks[i].Outcome == sched.Unfinished && ledger.Alike(&j.Tasks[i], &j.Tasks[m.First]); i++ {
		count++
	}
	was := *task
	for i := range count {
		a.tasks[m.First+i].Attempt = b.next(was)
	}
	if v := b.led.Renumber(j, m.First, count, "nobody knows it", &b.out); v != ledger.Again {
		t.Fatalf("verdict %d", v)
	}
}

func (b *checked) cancel(t *rapid.T) {
	a, m := b.any(t)
	if a != nil {
		b.led.Cancel(b.led.Job(m.Job), "cancelled", &b.out)
		b.jobs = slices.DeleteFunc(b.jobs, func(x *account) bool { return x == a })
	}
}

func (b *checked) cancelTask(t *rapid.T) {
	a, m := b.any(t)
	if task := b.open(a, &m); task != nil {
		j := b.led.Job(m.Job)
		b.fail(t, a, &m, sched.Killed)
		b.led.CancelTask(j, m.First, "cancelled", &b.out)
	}
}

func (b *checked) check(t *rapid.T) {
	b.flush(t)
	b.compare(t, b.led)
}

// compare holds a ledger against the copy.
func (b *checked) compare(t *rapid.T, led *ledger.Ledger) {
	if err := led.Valid(); err != nil {
		t.Fatal(err)
	}
	i := 0
	led.Each(func(j *ledger.Job) {
		if i < len(b.jobs) && (j.Class != b.jobs[i].class || j.AsDeclared() != (b.jobs[i].turns == 0)) {
			t.Fatalf("job %s is %s, want %s after %d turns", j.ID, j.Class, b.jobs[i].class, b.jobs[i].turns)
		}
		if i == len(b.jobs) || j.ID != b.jobs[i].submit.Job || !slices.EqualFunc(j.Tasks, b.jobs[i].tasks, equal) {
			t.Fatalf("job number %d is %s with %v; %d jobs are wanted", i, j.ID, j.Tasks, len(b.jobs))
		}
		if len(b.jobs[i].reasons) != j.Failed() || (j.Failed() > 0 && j.Reason() == "") {
			t.Fatalf("job %s failed %d times by %q, want %q", j.ID, j.Failed(), j.Reason(), b.jobs[i].reasons)
		}
		i++
	})
	if i != len(b.jobs) {
		t.Fatalf("%d jobs, want %d", i, len(b.jobs))
	}
}

// equal compares two tasks; of one that ended only how it ended matters.
func equal(a, b ledger.Task) bool {
	return a == b || (a.Outcome == b.Outcome && a.Outcome != sched.Unfinished)
}

// restart reads the journal into a new ledger, which must be equal to the old.
func (b *checked) restart(t *rapid.T) {
	b.flush(t)
	ended := map[int]bool{} // by place of the Submit in the journal
	submit := map[sched.JobID]int{}
	for i, m := range b.journal {
		switch m.Kind {
		case sched.Submit:
			submit[m.Job] = i
		case sched.JobEnded:
			ended[submit[m.Job]] = true
		}
	}
	b.life += sched.AttemptsPerLife
	led := ledger.NewLife(b.life, window)
	for i := range b.journal {
		m := &b.journal[i]
		if m.Kind == sched.Submit {
			submit[m.Job] = i
		}
		if ended[submit[m.Job]] {
			continue
		}
		if m.Kind == sched.Submit {
			led.Submit(0, m)
		} else {
			led.Restore(b.now, m)
		}
	}
	for _, a := range b.jobs { // tasks without a record are forgotten
		for i := range a.tasks {
			a.tasks[i].Attempt, a.tasks[i].Place, a.tasks[i].Marks = a.written[i].Attempt, a.written[i].Place, a.written[i].Marks
			a.tasks[i].Waits, a.losses[i] = false, slices.Clone(a.kept[i])
			for k := range a.losses[i] {
				a.losses[i][k].at = b.now
			}
		}
	}
	b.compare(t, led)
	b.led = led
}

// The ledger against a copy that is kept by hand, and against itself read back
// from its records.
func TestLedgerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &checked{led: ledger.NewLife(1, window), life: 1}
		t.Repeat(map[string]func(*rapid.T){
			"submit": b.submit, "submit again": b.submit, "report": b.report, "report again": b.report, "lost": b.lost, "place": b.place,
			"come back": b.comeBack, "wake": b.wake, "renumber": b.renumber, "giveBack": b.giveBack, "reclass": b.reclass, "cancel": b.cancel, "cancel task": b.cancelTask, "restart": b.restart, "": b.check,
		})
	})
}

// A record of a task's end without a result, as only a damaged journal has, changes
// nothing.
func TestRestoreWithoutAResult(t *testing.T) {
	led := ledger.NewLife(1, 0)
	led.Submit(0, &sched.Message{Job: sched.JobID{Lo: 1}, Count: 2})
	for _, o := range []sched.Outcome{sched.Unfinished, sched.Lost, sched.Yielded} {
		led.Restore(0, &sched.Message{Kind: sched.TaskEnded, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: o})
	}
	if n := led.Tasks(); n != 2 || led.Valid() != nil {
		t.Errorf("%d tasks are unfinished, want 2; %v", n, led.Valid())
	}
}
