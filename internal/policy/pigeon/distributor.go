package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// retryReturned is how long tasks that no master accepted wait before they are placed
// again.
const retryReturned = 100 * sched.Millisecond

// Distributor splits jobs over the groups and owns the unfinished tasks. Its state is
// the ledger and the applications that each master serves.
type Distributor struct {
	cfg      sched.DistributorConfig
	led      *ledger.Ledger
	groups   []group // by master id
	held     []sched.JobID
	restored bool // false while the journal is being read
	retrying bool // a timer for held tasks is running
	canary   bool // tasks 0 of long jobs are tried as short ones
	totals   bool // Tasks messages carry the number of tasks of the job

	confirmation confirmation              // of tasks of an earlier life
	asked        map[sched.JobID]*question // about groups, for gangs
}

type group struct {
	up, lost bool // neither: no message has named it yet
	serves   []string
	answer   answer
	loss     loss
}

// NewDistributor returns a new distributor without masters.
func NewDistributor(cfg sched.DistributorConfig) *Distributor {
	return &Distributor{cfg: cfg, led: ledger.NewLife(cfg.FirstAttempt, cfg.LossWindow), restored: true}
}

// NewDistributorWith returns a distributor with options.
func NewDistributorWith(cfg sched.DistributorConfig, o Options) *Distributor {
	d := NewDistributor(cfg)
	d.canary, d.totals = o.Canary, o.Tail
	return d
}

// Ledger returns the account of unfinished tasks.
func (d *Distributor) Ledger() *ledger.Ledger { return d.led }

// Owed implements [sched.DistributorCore].
func (d *Distributor) Owed() sched.Owed { return d.led.Owed() }

// JobView implements [sched.DistributorCore].
func (d *Distributor) JobView(id sched.JobID, _ int) (v sched.JobView, ok bool) {
	j := d.led.Job(id)
	if j == nil {
		return v, false
	}
	v = sched.JobView{App: j.App, Unbound: int(j.Unplaced), Bound: j.Unfinished() - int(j.Unplaced) - int(j.Waiting)}
	v.Waiting, v.Next, v.NextTask = d.led.NextAttempt(j)
	v.MaxRunning, v.Throttled = int(j.MaxRunning), j.Throttled()
	return v, true
}

// Step implements [sched.Core].
func (d *Distributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	d.led.At(now)
	switch m.Kind {
	case sched.Submit:
		d.submit(now, m, out)
	case sched.Report:
		j, v := d.led.Report(now, m, out)
		d.applyVerdict(j, m, v, out)
	case sched.AttemptLost:
		j, v := d.led.Lost(now, m, out)
		d.applyVerdict(j, m, v, out)
	case sched.Returned:
		d.returned(now, from, m, out)
	case sched.Holding:
		d.holding(now, from, m, out)
	case sched.Held:
		d.heldAtWorker(m, out)
	case sched.Cancel:
		d.cancel(m, out)
	case sched.MasterUp:
		d.masterUp(now, m, out)
	case sched.MasterLost:
		d.masterLost(now, m, out)
	case sched.Serves:
		d.serves(from, m, out)
	case sched.Timeout:
		d.timeout(now, m.Token, out)
	case sched.Placed, sched.NewAttempt, sched.NotLost, sched.TaskEnded:
		d.led.Restore(now, m)
	case sched.GangLoad:
		d.gangLoad(from, m, out)
	case sched.Reclass:
		d.reclass(now, from, m, out)
	case sched.Restored:
		d.restore(now, out)
	}
}

// group returns the entry of the master, new when it was unknown; nil when the
// address is not that of a master.
func (d *Distributor) group(a sched.Addr) *group {
	if a.Role != sched.Master || a.ID < 0 || a.ID > ledger.MaxMaster {
		return nil
	}
	if grow := int(a.ID) + 1 - len(d.groups); grow > 0 {
		d.groups = append(d.groups, make([]group, grow)...)
	}
	return &d.groups[a.ID]
}

func master(place int16) sched.Addr { return sched.Addr{Role: sched.Master, ID: int32(place)} }

func (d *Distributor) submit(now sched.Time, m *sched.Message, out *sched.Actions) {
	j := d.led.Submit(now, m)
	if j == nil {
		return
	}
	if m.Resent {
		d.restored, d.confirmation.open = false, true
		j.Unconfirm()
		return
	}
	d.place(j, out)
	d.hold(j)
}

// applyVerdict acts on the ledger's verdict about an attempt.
func (d *Distributor) applyVerdict(j *ledger.Job, m *sched.Message, v ledger.Verdict, out *sched.Actions) {
	switch v {
	case ledger.Again:
		d.tryAgain(j, m.First, m.Outcome != sched.Yielded || m.Node != "", out)
	case ledger.Accepted:
		// Another attempt may be queued or running: it is no longer wanted.
		if t := &j.Tasks[m.First]; t.Attempt != m.Attempt || m.Kind == sched.AttemptLost {
			d.drop(j, m.First, 1, t.Place, out)
		}
	}
}

// tryAgain sends a new attempt to the queue of the one before, normally to its head;
// without a live master there the task is placed again.
func (d *Distributor) tryAgain(j *ledger.Job, task int32, head bool, out *sched.Actions) {
	t := &j.Tasks[task]
	if !j.Gang && t.Place >= 0 && d.group(master(t.Place)).accepts(j.App) {
		d.sendTasks(j, task, 1, t.Place, out).Head = head
		return
	}
	j.Unplace(task)
	d.place(j, out)
	d.hold(j)
}

func (d *Distributor) sendTasks(j *ledger.Job, first, count int32, place int16, out *sched.Actions) *sched.Message {
	m := out.Send(master(place), sched.Tasks)
	m.Job, m.Class, m.Estimate, m.App, m.Arrival = j.ID, j.Class, j.Estimate, j.App, j.Arrival
	m.Distributor, m.First, m.Count, m.Attempt = d.cfg.Self, first, count, j.Tasks[first].Attempt
	m.Marks, m.Owner, m.Priority, m.Slots, m.Gang = d.marks(j, first), j.Owner, j.Priority, j.Slots, j.Gang
	switch {
	case j.Gang: // those that start together
		m.Total = int32(j.Unfinished()) //nolint:gosec // at most sched.MaxTasks
	case d.totals:
		m.Total = int32(len(j.Tasks)) //nolint:gosec // at most sched.MaxTasks
	}
	return m
}

// marks returns the marks of a range of tasks with equal attempts that starts with
// the given one.
func (d *Distributor) marks(j *ledger.Job, first int32) sched.Marks {
	t := &j.Tasks[first]
	marks := j.Marks | t.Marks
	if j.Slots > 1 || j.Gang { // it is neither suspended nor tried
		return marks &^ sched.Stoppable
	}
	if d.canary && first == 0 && t.Attempt == j.First && j.Class == sched.Long && j.AsDeclared() {
		marks |= sched.Canary
	}
	return marks
}

func (d *Distributor) drop(j *ledger.Job, first, count int32, place int16, out *sched.Actions) {
	if place < 0 {
		return
	}
	m := out.Send(master(place), sched.Drop)
	m.Job, m.First, m.Count = j.ID, first, count
}

func (d *Distributor) cancel(m *sched.Message, out *sched.Actions) {
	j := d.led.Job(m.Job)
	switch {
	case j == nil:
		return
	case m.Count > 0 && int(m.Count) < j.Unfinished():
		d.shrink(j, m, out)
		return
	}
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.Reason = sched.Cancel, j.ID, m.Reason
	for _, p := range places(j, func(*ledger.Task) bool { return true }) {
		d.drop(j, 0, 0, p, out)
	}
	d.led.Cancel(j, m.Reason, out)
}

// shrink cancels the last unfinished tasks of a job: those are the waiting ones, since
// each group serves its share in order.
func (d *Distributor) shrink(j *ledger.Job, m *sched.Message, out *sched.Actions) {
	left := m.Count
	for last := int32(len(j.Tasks)) - 1; left > 0 && last >= 0; last-- { //nolint:gosec // at most sched.MaxTasks
		t := &j.Tasks[last]
		if t.Outcome != sched.Unfinished {
			continue
		}
		place, first := t.Place, last
		for ; left > 0 && first >= 0 && j.Tasks[first].Outcome == sched.Unfinished && j.Tasks[first].Place == place; first-- {
			d.led.CancelTask(j, first, m.Reason, out)
			left--
		}
		d.drop(j, first+1, last-first, place, out)
		last = first + 1
	}
}

// places lists the groups to which tasks of a job were sent, in order of the tasks.
func places(j *ledger.Job, which func(*ledger.Task) bool) (list []int16) {
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.Place >= 0 && which(t) && !slices.Contains(list, t.Place) {
			list = append(list, t.Place)
		}
	}
	return list
}

// returned takes back tasks that a group could not run, and places them with other
// groups. A group that was full, or that is the only one, is tried again later: if a task
// were sent back at once, a repetition of the message would return it a second time.
func (d *Distributor) returned(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	j := d.led.Job(m.Job)
	if j == nil || d.group(from) == nil {
		return
	}
	if m.Resent {
		d.returnedInDoubt(now, j, from, m, out)
		return
	}
	moves, refused := m.Peer.Role == sched.Master, false
	for i := m.First; i < m.First+m.Count && j.Has(i); i++ {
		if d.led.Return(j, i, m.Attempt, int16(from.ID)) && moves {
			refused = !d.handOver(j, i, from, m.Peer, out) || refused
		}
	}
	if refused || !moves && !m.Full {
		d.placeExcept(j, from, out)
	}
	if d.hold(j); j.Unplaced > 0 {
		d.retryLater(now, out)
	}
}

// handOver sends a task that a group has returned to the group with the spare worker,
// and names the first group in the message; false when the second cannot be reached. A
// task moves once.
func (d *Distributor) handOver(j *ledger.Job, task int32, from, to sched.Addr, out *sched.Actions) bool {
	j.Tasks[task].Marks |= sched.Moved
	g := d.group(to)
	if !d.restored || g == nil || !g.accepts(j.App) {
		return false
	}
	j.Place(task, int16(to.ID))
	t := d.placed(j, task, 1, int16(to.ID), out)
	t.Peer = from
	t.Resent = t.Attempt > j.First // for masters of earlier versions
	return true
}

func (d *Distributor) retryLater(now sched.Time, out *sched.Actions) {
	if !d.retrying {
		d.retrying = true
		out.Timer(now+retryReturned, retryToken)
	}
}
