package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// idleWithin bounds how long a worker may be idle while a task waits that it may take.
const idleWithin = 2 * time.Second

// workConservation: once all is healed, no group shows for longer than the bound an idle
// worker and a waiting task that it may take. The tasks of the queue may be others at each
// look, so that the account of a group is taken for idle only while every look shows it. Tasks of
// Spark applications may also wait for executors that start, so that an idle worker may not take them.
func workConservation(r *Run) (list []Finding) {
	if r.Binds || len(r.SparkJobs) > 0 {
		return nil
	}
	type view struct{ frontend, group int }
	since := map[view]Time{}
	from := r.Healed + Time(backWithin)
	for _, g := range r.Groups {
		id := view{g.Frontend, g.Group}
		wasted := g.QueuedShort > 0 && g.IdleGeneral+g.IdleReserved > 0 || g.QueuedLong > 0 && g.IdleGeneral > 0
		switch began, before := since[id]; {
		case g.Time < from || !wasted:
			delete(since, id)
		case !before:
			since[id] = g.Time
		case time.Duration(g.Time-began) > idleWithin+r.Stall:
			list = append(list, Finding{What: fmt.Sprintf("group %d has had %d idle workers (%d general) beside %d short and %d long tasks for %v", g.Group, g.IdleGeneral+g.IdleReserved, g.IdleGeneral, g.QueuedShort, g.QueuedLong, time.Duration(g.Time-began)), At: g.Time})
			since[id] = math.MaxInt64 - Time(time.Hour) // once
		}
	}
	return list
}

// backWithin is when the throughput is back after healing.
const backWithin = 5 * time.Second

// throughput: in the seconds after backWithin tasks end at the rate at which they arrive,
// short of what is still running. Those of jobs that no frontend accepts have arrived as well.
func throughput(r *Run) []Finding {
	from := r.Healed + Time(backWithin+r.Stall)
	if r.Until <= from+Time(backWithin) || r.FailingDisk != "" {
		return nil // no load that long after healing, or never healed
	}
	arrived, ended := 0, 0
	for _, j := range r.Jobs {
		if j.Writes && !j.Long && j.Cancelled == 0 && j.Submitted >= from-Time(time.Second) && j.Submitted < r.Until-Time(time.Second) {
			arrived += j.Tasks
		}
	}
	short := map[string]bool{}
	for _, j := range r.Jobs {
		short[j.Key] = !j.Long && j.Cancelled == 0
	}
	for _, e := range r.Events {
		if e.Event == End && short[e.Job] && e.Time >= from && e.Time < r.Until {
			ended++
		}
	}
	if need := arrived * 7 / 10; ended < need {
		return []Finding{{What: fmt.Sprintf("from %v after healing on %d short tasks arrived and %d ended", backWithin, arrived, ended), At: from}}
	}
	return nil
}

// flat: the memory, goroutines and descriptors of the daemons of a role do not grow. The
// last third of the run is compared with the second one by medians, since a process that
// was just started has less of each.
func flat(r *Run) (list []Finding) {
	by := map[string][]Footprint{}
	for _, f := range r.Footprints {
		by[f.Daemon] = append(by[f.Daemon], f)
	}
	for daemon, all := range by {
		if len(all) < 90 {
			continue
		}
		for _, c := range []struct {
			what  string
			of    func(Footprint) float64
			least float64 // growth below it is noise
		}{
			{"MiB of memory", func(f Footprint) float64 { return float64(f.RSS) / (1 << 20) }, 64},
			{"descriptors", func(f Footprint) float64 { return float64(f.Descriptors) }, 100},
			{"goroutines", func(f Footprint) float64 { return float64(f.Goroutines) }, 200},
		} {
			before, after := median(all[len(all)/3:2*len(all)/3], c.of), median(all[2*len(all)/3:], c.of)
			if after > 1.5*before && after-before > c.least {
				list = append(list, Finding{What: fmt.Sprintf("%s grew from %.0f to %.0f %s in a third of the run", daemon, before, after, c.what)})
			}
		}
	}
	return list
}

func median(list []Footprint, of func(Footprint) float64) float64 {
	values := make([]float64, 0, len(list))
	for _, f := range list {
		if v := of(f); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// processes: a daemon ends only when it is asked to.
func processes(r *Run) (list []Finding) {
	for _, e := range r.Ends {
		if e.Daemon == r.FailingDisk || r.diskFailed(e) || r.ledNoMore(e) {
			continue // a frontend ends when its journal cannot be written
		}
		list = append(list, Finding{What: e.Daemon + ": " + e.What, At: e.Time})
	}
	return list
}

// ledNoMore reports whether a frontend ended that could not renew its leadership: it reports
// that, as it may at any time on a machine without processor time to spare, or a fault of it or
// of NATS was in progress, or had just ended.
func (r *Run) ledNoMore(e ProcessEnd) bool {
	if !r.Standbys || !strings.HasPrefix(e.Daemon, "frontend") || e.crashed() {
		return false
	}
	return strings.Contains(e.What, "this process does not lead any more") || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.keepsFromLeading(e) })
}

// crashed reports whether a process ended as none ever may. The end of its log may lack the
// first line of a panic, but the Go runtime then ends the process with status 2.
func (e *ProcessEnd) crashed() bool {
	return slices.ContainsFunc([]string{"panic", "fatal error", "exit status 2", "did not end within"}, func(text string) bool { return strings.Contains(e.What, text) })
}

// keepsFromLeading reports whether a frontend may have lost its leadership by a fault: one of its
// own process, its disk or its network, or of a NATS server, in which leaderships are recorded.
func (f *Fault) keepsFromLeading(e ProcessEnd) bool {
	meets := func(daemon string, from, to Time) bool {
		return (daemon == e.Daemon || strings.HasPrefix(daemon, "nats-")) && from <= e.Time && e.Time <= to+Time(leadsAgain)
	}
	return !f.Void && (meets(f.Victim, f.From, f.To) || meets(f.Peer, f.From, f.To) || slices.ContainsFunc(f.Stops, func(s DaemonStop) bool { return meets(s.Daemon, s.From, s.To) }))
}

// leadsAgain is how long after a fault a frontend may still fail to lead, or to follow.
const leadsAgain = 5 * time.Second

// diskFailed reports whether the disk of a daemon was full or failed when it ended.
func (r *Run) diskFailed(e ProcessEnd) bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool {
		return (f.Kind == FullDisk || f.Kind == BadDisk) && !f.Void && f.Victim == e.Daemon && f.From <= e.Time && e.Time <= f.To+Time(2*time.Second)
	})
}
