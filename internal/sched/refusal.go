package sched

// Refusal is why a worker refuses a launch. A Refused message carries it in the words
// that users read, see [RefusalOf].
type Refusal uint8

// The refusals.
const (
	RefusedByNode        Refusal = iota // the shell denied the launch ([Message.Deny]), in its own words
	RefusedBusy                         // a task runs
	RefusedBusyOther                    // another task runs than the one to be suspended
	RefusedFull                         // a worker of several slots has no room
	RefusedEpoch                        // a master of a later epoch has sent a message
	RefusedChanged                      // launched for an earlier state of the slot
	RefusedWorkerChanged                // the same, of a worker of several slots
	RefusedReserved                     // a long task at a slot for short ones
	RefusedUnasked                      // it answers no open request for a task
	RefusedLate                         // the same, in Peacock
	RefusedAgain                        // this attempt ran here before
	numRefusals
)

var refusals = [numRefusals]string{
	RefusedByNode:        "the node cannot run it",
	RefusedBusy:          "the slot is busy",
	RefusedBusyOther:     "the slot is busy with another task",
	RefusedFull:          "the node is full",
	RefusedEpoch:         "the master's epoch is over",
	RefusedChanged:       "the slot has changed since",
	RefusedWorkerChanged: "the node has changed since",
	RefusedReserved:      "the slot is reserved for short tasks",
	RefusedUnasked:       "the slot did not wait for it",
	RefusedLate:          "the slot did not ask for it, or does no more",
	RefusedAgain:         "it ran here before",
}

// String returns the words that a user reads.
func (r Refusal) String() string { return refusals[min(r, numRefusals-1)] }

// RefusalOf returns the refusal that a Refused message carries.
func RefusalOf(m *Message) Refusal {
	for r, words := range refusals {
		if words == m.Reason {
			return Refusal(r) //nolint:gosec // an index of the array
		}
	}
	return RefusedByNode
}

// Deny marks a Launch or Preempt that the worker's shell cannot carry out. The worker
// refuses it for that reason, as if it had been made for an earlier state of the
// slot: the sequence number advances, and the refusal carries the present one.
func (m *Message) Deny(reason string) { m.Reason = reason }
