package application

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Bounds of what is kept for an application that does not ask.
const (
	maxStates = 1000 // of executors that have ended
	maxNotes  = 200
)

// news is what an application can still be told: the last state of each executor,
// and notes, each with the version at which it came.
type news struct {
	version int64
	states  []datedState // by version
	notes   []datedNote
	wake    chan struct{} // closed and replaced with each version
}

type datedState struct {
	api.ExecutorState
	version int64
}

type datedNote struct {
	text    string
	version int64
}

func newNews() news { return news{version: 1, wake: make(chan struct{})} }

func (n *news) next() {
	n.version++
	close(n.wake)
	n.wake = make(chan struct{})
}

// tell takes the state of an executor, unless it is what was told last.
func (n *news) tell(s api.ExecutorState) {
	at := slices.IndexFunc(n.states, func(d datedState) bool { return d.ID == s.ID })
	if at >= 0 {
		if n.states[at].ExecutorState == s {
			return
		}
		n.states = slices.Delete(n.states, at, at+1)
	}
	n.next()
	n.states = append(n.states, datedState{s, n.version})
	if len(n.states) > maxStates {
		if i := slices.IndexFunc(n.states, func(d datedState) bool { return d.State == api.ExecutorExited }); i >= 0 {
			n.states = slices.Delete(n.states, i, i+1)
		}
	}
}

// retract takes back an executor that is nothing to be told of any more.
func (n *news) retract(id string) {
	n.states = slices.DeleteFunc(n.states, func(d datedState) bool { return d.ID == id })
}

func (n *news) note(text string) {
	n.next()
	n.notes = append(n.notes, datedNote{text, n.version})
	if len(n.notes) > maxNotes {
		n.notes = slices.Delete(n.notes, 0, len(n.notes)-maxNotes)
	}
}

// since returns what came after a version; everything when it is 0 or one that was
// never given here. There is nothing to tell when the versions are equal.
func (n *news) since(version int64) api.News {
	if version > n.version {
		version = 0
	}
	out := api.News{Version: n.version}
	for _, d := range n.states {
		if d.version > version {
			out.Executors = append(out.Executors, d.ExecutorState)
		}
	}
	for _, d := range n.notes {
		if d.version > version {
			out.Notes = append(out.Notes, d.text)
		}
	}
	return out
}
