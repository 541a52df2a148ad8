package server

import "sync/atomic"

// Reason is the reason why the server ended or refused a connection.
type Reason int

// The reasons.
const (
	Finished   Reason = iota // the peer closed between frames, or the server stopped
	Full                     // MaxConns are open
	HostFull                 // MaxConnsPerHost are open
	Idle                     // no message for IdleTimeout
	Slow                     // a frame was not complete after FrameTimeout
	Oversized                // a frame beyond MaxFrame
	NoMemory                 // the budget for frames in flight is used up
	Malformed                // not Thrift, or arguments that do not parse
	Vanished                 // the connection broke within a frame or a reply
	Unread                   // the peer did not read a reply within WriteTimeout
	Panicked                 // a handler panicked
	Declined                 // a call was answered with an exception of Options.EndAfter
	Unsecured                // TLS' handshake failed, or was not complete after HandshakeTimeout
	Unproven                 // the caller's proof of its identity is invalid, or has expired
	CallerFull               // MaxConnsPerCaller are open
	reasons
)

// String returns the reason as a metric label.
func (r Reason) String() string {
	return [reasons]string{
		"finished", "full", "host_full", "idle", "slow", "oversized",
		"no_memory", "malformed", "vanished", "unread", "panicked", "declined", "unsecured", "unproven", "caller_full",
	}[r]
}

// Reasons lists all reasons, for metrics.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Stats counts events since the creation of the server; Open and Memory are current.
type Stats struct {
	Open         int    // connections now
	Memory       int64  // bytes of frames in flight now
	Accepted     uint64 // connections, refused ones included
	AcceptErrors uint64 // that the accept loop survived
	Frames       uint64 // messages handed to the processor
	Failed       uint64 // calls answered with an undeclared error
	Refused      uint64 // calls that their caller may not make
	Panics       uint64
	Ended        [reasons]uint64 // connections ended or refused, by Reason
}

// Add adds the counts of another server.
func (s *Stats) Add(o Stats) {
	s.Open += o.Open
	s.Memory += o.Memory
	s.Accepted += o.Accepted
	s.AcceptErrors += o.AcceptErrors
	s.Frames += o.Frames
	s.Failed += o.Failed
	s.Refused += o.Refused
	s.Panics += o.Panics
	for i := range s.Ended {
		s.Ended[i] += o.Ended[i]
	}
}

// counters are written by all connections and read by Stats.
type counters struct {
	accepted, acceptErrors, frames, failed, refused, panics atomic.Uint64
	ended                                                   [reasons]atomic.Uint64
}

// Stats returns the counts now.
func (s *Server) Stats() Stats {
	c := &s.count
	out := Stats{
		Open:         s.conns.open(),
		Memory:       s.budget.Used(),
		Accepted:     c.accepted.Load(),
		AcceptErrors: c.acceptErrors.Load(),
		Frames:       c.frames.Load(),
		Failed:       c.failed.Load(),
		Refused:      c.refused.Load(),
		Panics:       c.panics.Load(),
	}
	for i := range out.Ended {
		out.Ended[i] = c.ended[i].Load()
	}
	return out
}
