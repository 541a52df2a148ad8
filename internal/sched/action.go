package sched

import "slices"

// ActionKind is what an [Action] requests from the shell.
type ActionKind uint8

// The actions.
const (
	// Send: deliver Msg to the core To, in order per receiver, at least once.
	Send ActionKind = iota
	// Timer: send Timeout(Token) at the instant At or soon after. Timers are never
	// cancelled; a core ignores those that have become stale.
	Timer
	// Start (worker): run the attempt of Msg in the slot's backend; its end comes
	// back as Ended.
	Start
	// Suspend, Resume (worker): stop and continue the attempt of Msg.
	Suspend
	Resume
	// Stop (worker): kill the attempt of Msg; its end comes back as Ended.
	Stop
	// Persist (distributor): journal Msg before it has any effect outside.
	Persist
	// Forget: the core holds nothing of the job of Msg any more; the shell may drop
	// what it keeps for it (payloads, names).
	Forget
)

// Action is one thing a core wants done. The order of actions is the order of
// the decisions; sends leave only when the whole step has been taken.
type Action struct {
	Kind  ActionKind
	To    Addr   // Send
	At    Time   // Timer
	Token uint64 // Timer
	Msg   Message
}

// Actions collects what a step decided. The zero value is ready; the shell
// reuses one between steps.
type Actions struct{ list []Action }

// List returns the collected actions. It is valid until the next Reset.
func (a *Actions) List() []Action { return a.list }

// Reset empties the list and keeps its memory.
func (a *Actions) Reset() {
	clear(a.list)
	a.list = a.list[:0]
}

// Do appends an action on the message and returns the message for filling in.
// The pointer is valid until the next call.
func (a *Actions) Do(kind ActionKind) *Message {
	a.list = append(a.list, Action{Kind: kind})
	return &a.list[len(a.list)-1].Msg
}

// Send appends a message of the given kind to the given core and returns it for
// filling in. The pointer is valid until the next call.
func (a *Actions) Send(to Addr, kind Kind) *Message {
	a.list = append(a.list, Action{Kind: Send, To: to, Msg: Message{Kind: kind}})
	return &a.list[len(a.list)-1].Msg
}

// Timer requests Timeout(token) at the given instant.
func (a *Actions) Timer(at Time, token uint64) {
	a.list = append(a.list, Action{Kind: Timer, At: at, Token: token})
}

// SendReturned returns tasks to their distributor; full is set when there is only no
// room for them now.
func (a *Actions) SendReturned(distributor Addr, job JobID, first, count, attempt int32, full bool) *Message {
	m := a.Send(distributor, Returned)
	m.Job, m.First, m.Count, m.Attempt, m.Full = job, first, count, attempt, full
	return m
}

// SendLost reports to its distributor the loss of an attempt at a node, for the reason of a
// WorkerLost, and returns true. An attempt that the WorkerLost names in Kept lives on, and
// nothing is reported.
func (a *Actions) SendLost(distributor Addr, id AttemptID, node string, lost *Message) bool {
	if slices.Contains(lost.Kept, id) {
		return false
	}
	m := a.Send(distributor, AttemptLost)
	m.Job, m.First, m.Attempt, m.Node, m.Reason, m.Outcome = id.Job, id.Task, id.Attempt, node, lost.Reason, lost.Outcome
	return true
}

// SendHolding asks the distributor of an attempt whether it is still wanted.
func (a *Actions) SendHolding(distributor Addr, id AttemptID) {
	m := a.Send(distributor, Holding)
	m.Job, m.First, m.Attempt = id.Job, id.Task, id.Attempt
}
