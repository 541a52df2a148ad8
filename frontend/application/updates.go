package application

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Bounds of what is kept for an application that does not call.
const (
	maxStates = 1000 // of executors that have ended
	maxNotes  = 200
)

// updates holds what an application may not have fetched yet: the last state of
// each executor, and notes, each with the version at which it came.
type updates struct {
	version int64
	states  []versionedState // by version
	notes   []versionedNote
	wake    chan struct{} // closed and replaced with each version
}

type versionedState struct {
	api.ExecutorState
	version int64
}

type versionedNote struct {
	text    string
	version int64
}

func newUpdates() updates { return updates{version: 1, wake: make(chan struct{})} }

func (n *updates) next() {
	n.version++
	close(n.wake)
	n.wake = make(chan struct{})
}

// setState sets the state of an executor, and changes nothing when it is the same.
func (n *updates) setState(s api.ExecutorState) {
	at := slices.IndexFunc(n.states, func(d versionedState) bool { return d.ID == s.ID })
	if at >= 0 {
		if n.states[at].ExecutorState == s {
			return
		}
		n.states = slices.Delete(n.states, at, at+1)
	}
	n.next()
	n.states = append(n.states, versionedState{s, n.version})
	if len(n.states) > maxStates {
		if i := slices.IndexFunc(n.states, func(d versionedState) bool { return d.State == api.ExecutorExited }); i >= 0 {
			n.states = slices.Delete(n.states, i, i+1)
		}
	}
}

// removeState removes the state of an executor.
func (n *updates) removeState(id string) {
	n.states = slices.DeleteFunc(n.states, func(d versionedState) bool { return d.ID == id })
}

func (n *updates) addNote(text string) {
	n.next()
	n.notes = append(n.notes, versionedNote{text, n.version})
	if len(n.notes) > maxNotes {
		n.notes = slices.Delete(n.notes, 0, len(n.notes)-maxNotes)
	}
}

// since returns what came after a version; everything when it is 0 or one that this
// frontend never returned. When the versions are equal, nothing has changed.
func (n *updates) since(version int64) api.News {
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
