package application

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// executors is the executors of one application.
type executors struct {
	byID     map[string]*executor
	next     int // number of the next one
	restarts restarts
	final    string // why no more are started, "" while they are
}

// executor is a process that was ordered from a node or found there.
type executor struct {
	id          string
	node        string
	incarnation int64 // of the node
	state       api.ExecutorState
	seen        bool   // in the node's holdings
	stop        bool   // it has to be stopped, and is not replaced
	holds       string // key of the job that holds its slots, "" for none
	holding     int    // tasks of that job
}

// count returns the number of executors that are not to be stopped, and how many of
// them run.
func (e *executors) count() (all, running int) {
	for _, p := range e.byID {
		if p.stop {
			continue
		}
		all++
		if p.state.State == api.ExecutorRunning {
			running++
		}
	}
	return all, running
}

// starting returns the executors that do not run yet, the newest first.
func (e *executors) starting() (list []*executor) {
	for _, p := range e.byID {
		if !p.stop && p.state.State != api.ExecutorRunning {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(x, y *executor) int { return cmp.Compare(number(y.id), number(x.id)) })
	return list
}

func number(id string) int {
	n, _ := strconv.Atoi(id) // 0 for an id that is no number
	return n
}
