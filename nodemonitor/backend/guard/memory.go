package guard

import "time"

// version is that of the protocol between clients and guards of different builds. A guard of
// version 1 does not know Spec.As and Spec.Limits: it would run
// everything as its own user, without limits. One of version 2 does not know Spec.Stdin: it would
// give a process an empty input. Version 3 had another encoding. One of version 4 does not know opPing.
const version = 5

// greeting is the first message of a client.
type greeting struct {
	Version int
	Owner   string // whose processes these are: another owner's guard is refused
	Cgroup  string // the folder of the delegated cgroup, as this client found it; "" for none
	// To a new guard.
	Token string        // begins every mark
	Grace time.Duration // for which the guard outlives its client; 0: not at all
}

// welcome answers the greeting of a client that is not the first one.
type welcome struct {
	Version int
	Refused string // why the client is not served; "" when it is
	Ends    bool   // refused, and the guard ends with all that it runs
	Pid     int    // of the guard: the credentials of the socket are those of the process that made it
	Token   string
	Last    Handle
	Kept    []byte
	Held    int // that many messages of the type Held follow
}

// Held is a process that a guard has kept for the next client.
type Held struct {
	Handle    Handle
	Note      []byte
	Began     bool          // it was started
	Ran       time.Duration // since then, or until it ended
	Stopped   time.Duration // for how much of that it was suspended
	Suspended bool
	End       *Event // its last event; nil while it runs
	Input     InputState
}

// memory is what a guard keeps for the next client.
type memory struct {
	owner string
	token string
	grace time.Duration // 0: there is no next client
	last  Handle
	kept  []byte
}

// held lists the processes whose end no client has seen.
func (s *server) held() (list []Held) {
	for _, c := range s.handles {
		h := Held{Handle: c.handle, Note: c.spec.Note, Began: c.pid != 0 && c.birth == nil, Suspended: c.held, Stopped: c.heldBefore, End: c.final}
		if c.held {
			h.Stopped += time.Since(c.heldSince)
		}
		if c.input != nil {
			h.Input = c.input.InputState
		}
		if h.Began {
			h.Ran = time.Since(c.started)
		}
		if c.final != nil {
			h.Ran = c.final.Ran
		}
		list = append(list, h)
	}
	return list
}
