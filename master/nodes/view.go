package nodes

import (
	"iter"
	"maps"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Status lists the registered nodes for users, and counts their slots by kind: those that run
// something, and of the others those that take tasks. Where workers receive tasks from others than
// this master, the node's last report counts. A worker of several slots may be busy in some of
// them, and hold more attempts than it has slots.
func (t *Nodes) Status(workers func(sched.Addr) sched.WorkerView) (list []api.Node, idle, busy [sched.NumWorkerKinds]int) {
	list = make([]api.Node, 0, len(t.byName))
	each := t.cfg.Policy.SlotsPerWorker()
	for _, n := range t.sorted() {
		v := api.Node{ID: n.ref.Name, Group: t.cfg.Group, Address: n.address, Up: n.up && !n.stopping, Version: n.version, StateSeconds: (t.cfg.Now() - n.since).Seconds()}
		v.State, v.Reason = n.state()
		for _, slot := range n.sorted() {
			w := workers(n.slots[slot].worker)
			if w.Tasks == sched.Unknown {
				w.Tasks = n.slots[slot].busy
			}
			kind, runs := sched.General, min(w.Tasks, each)
			if w.Reserved {
				kind = sched.Reserved
				v.Reserved += each
			}
			v.Slots += each
			v.Busy += runs
			busy[kind] += runs
			if v.State == api.StateUp {
				idle[kind] += each - runs
			}
			v.Apps = append(v.Apps, n.servesNow(slot)...)
			if runs > 0 {
				v.Owners = append(v.Owners, n.slots[slot].owners...)
			}
		}
		v.Executors = n.present.Executors
		v.Apps, v.Owners = eachOnce(append(v.Apps, n.present.Applications...)), eachOnce(v.Owners)
		v.SlotUse, v.SlotJobs = n.use(workers, each, v.Owners, t.cfg.Jobs)
		list = append(list, v)
	}
	return list, idle, busy
}

// eachOnce sorts a list and drops what is there twice.
func eachOnce(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// use describes the use of a node's slots, the given number for each of its workers: how
// many attempts are there now, and of those the class, the owner and the job as the node reported them;
// no jobs where none is known by name.
func (n *node) use(workers func(sched.Addr) sched.WorkerView, each int, owners []string, names Jobs) (slots string, jobs []string) {
	classes := [...]byte{sched.Short: api.ShortSlot, sched.Long: api.LongSlot}
	text := make([]byte, 0, 2*each*len(n.slots))
	known := false
	for _, number := range n.sorted() {
		s := n.slots[number]
		w := workers(s.worker)
		if w.Tasks == sched.Unknown {
			w.Tasks = s.busy
		}
		for k := range each {
			use, owner, job := byte(api.IdleSlot), -1, ""
			switch {
			case k >= w.Tasks:
			case k >= len(s.inside):
				use = api.BusySlot
			default:
				use = classes[s.inside[k].class]
				owner = slices.Index(owners, s.inside[k].owner)
				job = names.Name(s.inside[k].job)
			}
			if k == 0 && w.Running {
				use = classes[w.Class] // the node reports that of the launch, and later
			}
			text = api.AppendSlotUse(text, use, w.Reserved, owner)
			jobs, known = append(jobs, job), known || job != ""
		}
	}
	if !known {
		jobs = nil
	}
	return string(text), jobs
}

// View is the view of a master without a core. Such a master schedules nothing; the view of
// its workers is what their nodes reported last.
type View struct{ nodes *Nodes }

var _ sched.GroupView = View{}

// View returns the view of a group without a core.
func (t *Nodes) View() View { return View{t} }

// Totals counts workers; tasks pass between frontends and workers only.
func (v View) Totals() (t sched.GroupTotals) {
	t.Oldest = [sched.NumClasses]sched.Time{sched.Unknown, sched.Unknown}
	for _, n := range v.nodes.byName {
		for _, s := range n.slots {
			t.Workers[sched.General]++
			switch {
			case s.busy > 0:
				t.Busy[sched.General]++
			case n.up && !n.draining:
				t.Idle[sched.General]++
			}
		}
	}
	return t
}

// Serves returns the applications that any slot serves, sorted.
func (v View) Serves() []string {
	all := map[string]bool{}
	for _, n := range v.nodes.byName {
		for _, s := range n.slots {
			for _, app := range s.serves {
				all[app] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Serving counts the slots that serve an application, and those of them that are idle.
func (v View) Serving(app string) (workers int, idle [sched.NumWorkerKinds]int) {
	for _, n := range v.nodes.byName {
		for slot, s := range n.slots {
			if !slices.Contains(n.servesNow(slot), app) {
				continue
			}
			if workers++; s.busy == 0 {
				idle[sched.General]++
			}
		}
	}
	return workers, idle
}

// WorkerView returns nothing beyond what the nodes report.
func (View) WorkerView(sched.Addr) sched.WorkerView { return sched.WorkerView{Tasks: sched.Unknown} }

// Share returns an empty share: jobs pass between frontends and workers only.
func (View) Share(sched.JobID, int) sched.JobShare { return sched.JobShare{} }

// Running yields nothing: jobs pass between frontends and workers only.
func (View) Running() iter.Seq2[sched.JobID, sched.Addr] {
	return func(func(sched.JobID, sched.Addr) bool) {}
}

// Owners returns nil: workers are not shared by owner.
func (View) Owners() []sched.OwnerView { return nil }

// Contended reports false: nothing waits here.
func (View) Contended(_, _ string, _ sched.Class) bool { return false }
