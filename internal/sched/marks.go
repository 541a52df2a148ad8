package sched

import (
	"fmt"
	"strings"
)

// Marks are facts about the tasks of a message, in addition to what every policy is
// sent with them. All tasks of a job are alike in Stoppable and Restartable.
type Marks uint8

// The marks.
const (
	// Stoppable tasks can be suspended and continued where they run.
	Stoppable Marks = 1 << iota
	// Restartable tasks can be stopped and run again from the beginning without
	// harm.
	Restartable
	// Canary means that task 0, if it is among these, is tried as a short one
	// although the job is long.
	Canary
	// Moved tasks came from another group and stay in the one they are sent to.
	Moved
	// Undeclared means that the class is unknown: it was neither declared nor
	// learned.
	Undeclared
	// Apart means that an earlier attempt was lost with its guard, so that the next one has a guard
	// of its own. In a NewAttempt: the attempt before was.
	Apart

	// AllMarks are all marks.
	AllMarks = Stoppable | Restartable | Canary | Moved | Undeclared | Apart
)

// Has reports whether all the given marks are set.
func (m Marks) Has(all Marks) bool { return m&all == all }

// String lists the marks that are set, with + between them.
func (m Marks) String() string {
	var set []string
	for i, name := range [...]string{"stoppable", "restartable", "canary", "moved", "undeclared", "apart"} {
		if m.Has(1 << i) {
			set = append(set, name)
		}
	}
	if rest := m &^ AllMarks; rest != 0 {
		set = append(set, fmt.Sprintf("Marks(%d)", uint8(rest)))
	}
	return strings.Join(set, "+")
}
