package webpage

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// reading is what the sources returned at one time.
type reading struct {
	time   float64
	groups []api.MasterState // of the first source that answers; nil when none does
	places []readPlace
	// elsewhere is what other frontends returned the last time that each was asked.
	elsewhere []readOther
	leftOut   error // more of them are not asked
	err       error // why no groups were read
}

// readPlace is what one source returned.
type readPlace struct {
	name      string
	jobs      []api.Status
	err       error
	elsewhere bool // of another frontend: its jobs are names and states
}

// readPlaces asks all sources.
func readPlaces(ctx context.Context, places []Place) reading {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	s := reading{time: unix(time.Now())}
	for _, p := range places {
		if s.groups == nil {
			groups, err := p.Nodes(ctx)
			if err == nil && groups == nil {
				groups = []api.MasterState{}
			}
			s.groups, s.err = groups, err
		}
		jobs, err := p.List(ctx, newest, "")
		s.places = append(s.places, readPlace{name: p.Name, jobs: jobs, err: err})
	}
	return s
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// problem returns why something could not be read, "" when all could.
func (s *reading) problem() string {
	all := []error{s.err, s.leftOut}
	for i := range s.places {
		all = append(all, s.places[i].err)
	}
	for i := range s.elsewhere {
		all = append(all, s.elsewhere[i].err)
	}
	if err := errors.Join(all...); err != nil {
		return err.Error()
	}
	return ""
}

// groupRow is a group as the page is sent it: without its nodes, and with why tasks wait.
type groupRow struct {
	api.MasterState
	WhyShort string `json:"why_short,omitempty"`
	WhyLong  string `json:"why_long,omitempty"`
}

func groupRows(groups []api.MasterState) []groupRow {
	list := make([]groupRow, len(groups))
	for i := range groups {
		g := &list[i]
		g.MasterState = groups[i]
		g.Nodes, g.Departed = nil, nil
		g.Frontends = slices.Clone(g.Frontends)
		for k := range g.Frontends {
			g.Frontends[k].StateSeconds = 0 // else they changed all the time
		}
		if g.Master != nil {
			m := *g.Master
			m.StateSeconds = 0
			g.Master = &m
		}
		g.WhyShort = why(&groups[i], groups[i].QueuedShort, g.IdleGeneral+g.IdleReserved, false)
		g.WhyLong = why(&groups[i], groups[i].QueuedLong, g.IdleGeneral, g.IdleReserved > 0)
	}
	return list
}

// why returns why tasks of a class wait at a group where some number of workers that may take
// them are idle, "" when none wait. reserved is set when others are idle that may not.
func why(g *api.MasterState, queued, idle int, reserved bool) string {
	busy := g.BusyGeneral + g.BusyReserved
	switch {
	case queued == 0:
		return ""
	case g.Workers == 0:
		return "no worker is registered"
	case idle > 0:
		return "workers are idle: a limit of the owner, the start of the master or the application keeps the tasks from them"
	case reserved:
		return "the idle workers are reserved for short tasks"
	case g.Workers == 1 && busy == 1:
		return "its only worker is busy"
	case busy == 0:
		return "no worker takes tasks: the nodes drain, or cannot be reached"
	case busy < g.Workers:
		return "all workers that take tasks are busy; the nodes of others drain, or cannot be reached"
	}
	return "all " + strconv.Itoa(g.Workers) + " workers are busy"
}

// departedRows returns the nodes that are not registered any more.
func departedRows(groups []api.MasterState, now float64) []nodeRow {
	list := []nodeRow{}
	for i := range groups {
		for k := range groups[i].Departed {
			n := &groups[i].Departed[k]
			list = append(list, nodeRowOf(nodeKey(n), n, now))
		}
	}
	return list
}

// nodeRow is a node as the page is sent it: with the time since when it is in its state, which
// stays the same while it is.
type nodeRow struct {
	Key string `json:"key"`
	api.Node
	StateSeconds float64 `json:"state_seconds,omitempty"` // left out
	Since        float64 `json:"since"`                   // Unix seconds
}

func nodeKey(n *api.Node) string { return strconv.Itoa(n.Group) + "/" + n.ID }

func nodeRowOf(key string, n *api.Node, now float64) nodeRow {
	return nodeRow{Key: key, Node: *n, Since: float64(int64(now - n.StateSeconds))}
}

// sameNode reports whether nothing of a node changed that is shown.
func sameNode(a, b *api.Node) bool {
	return a.SlotUse == b.SlotUse && a.Busy == b.Busy && a.Slots == b.Slots && a.Reserved == b.Reserved && a.State == b.State && a.Reason == b.Reason &&
		a.Up == b.Up && a.Address == b.Address && a.Version == b.Version && slices.Equal(a.Owners, b.Owners) && slices.Equal(a.SlotJobs, b.SlotJobs) && slices.Equal(a.Apps, b.Apps) && a.Executors == b.Executors
}

// job is a job with the frontend that has it.
type job struct {
	api.Status
	Frontend  string `json:"frontend"`
	elsewhere bool   // another frontend has it, and its page explains it
}

func (j *job) key() string { return j.Frontend + "/" + j.Job }

// jobRow is a job as the page is sent it.
type jobRow struct {
	Key string `json:"key"`
	job
}
