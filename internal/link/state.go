package link

import (
	"fmt"
	"time"
)

// Status of the peer, as deliveries show it.
type Status int

// The statuses.
const (
	Up   Status = iota // the last attempt was answered, or none was made
	Down               // the last attempt failed
	Lost               // none was answered for LostAfter
)

// String returns the status as a metric label.
func (s Status) String() string { return [...]string{"up", "down", "lost"}[s] }

// State is a change of status.
type State struct {
	Peer   int64 // incarnation of the process that was called, 0 when it is not known
	Status Status
	For    time.Duration // how long the peer was down until now
	Err    error         // the last failure; nil when Up
}

func (s State) String() string {
	if s.Status == Up {
		return fmt.Sprintf("up after %v", s.For)
	}
	return fmt.Sprintf("%v for %v: %v", s.Status, s.For, s.Err)
}

// Stats are counts since the link was made, except the first three.
type Stats struct {
	Status  Status
	Queued  int    // messages queued or in progress
	Bytes   int    // theirs, estimated from above
	Sent    uint64 // messages that the peer took
	Batches uint64 // that the peer took
	Retries uint64 // failed attempts
	Full    uint64 // messages that Send refused for lack of room
	Refused uint64 // messages that the peer refused
	Dropped uint64 // messages dropped by Reset or because their peer had ended
}
