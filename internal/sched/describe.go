package sched

import (
	"fmt"
	"strings"
)

// String returns the action kind's name.
func (k ActionKind) String() string {
	if names := [...]string{"Send", "Timer", "Start", "Suspend", "Resume", "Stop", "Persist", "Forget"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("ActionKind(%d)", uint8(k))
}

// Describe prints a message on one line: its kind and every field that is set,
// in a fixed order. Equal lines mean equal messages; recordings and golden
// traces are made of them.
func Describe(m *Message) string {
	var b strings.Builder
	b.WriteString(m.Kind.String())
	field := func(set bool, format string, args ...any) {
		if set {
			b.WriteByte(' ')
			fmt.Fprintf(&b, format, args...)
		}
	}
	field(m.Job != JobID{}, "job=%s", m.Job)
	field(m.First != 0 || m.Count != 0 || m.Attempt != 0, "tasks=%d+%d#%d", m.First, m.Count, m.Attempt)
	field(m.Total != 0, "total=%d", m.Total)
	field(m.Class != Short, "%s", m.Class)
	field(m.Outcome != Unfinished, "%s", m.Outcome)
	for _, flag := range []struct {
		set  bool
		name string
	}{{m.Head, "head"}, {m.Resent, "resent"}, {m.Reserved, "reserved"}, {m.Fixed, "fixed"}, {m.Full, "full"}} {
		field(flag.set, "%s", flag.name)
	}
	field(m.Marks != 0, "marks=%s", m.Marks)
	field(m.Retries != 0, "retries=%d", m.Retries)
	field(m.Losses != 0, "losses=%d", m.Losses)
	field(m.Peer != Addr{}, "peer=%s", m.Peer)
	// Recordings name the distributor by the first name of the field.
	field(m.Distributor != Addr{}, "owner=%s", m.Distributor)
	field(m.Key != 0, "key=%d", m.Key)
	field(m.Seq != 0, "seq=%d", m.Seq)
	field(m.Epoch != 0, "epoch=%d", m.Epoch)
	field(m.Token != 0, "token=%d", m.Token)
	field(m.Estimate != 0, "estimate=%d", m.Estimate)
	field(m.Arrival != 0, "arrival=%d", m.Arrival)
	field(m.MaxDisconnect != 0, "maxdisconnect=%d", m.MaxDisconnect)
	field(m.MaxRunning != 0, "maxrunning=%d", m.MaxRunning)
	field(m.Slots != 0, "slots=%d", m.Slots)
	field(m.Gang, "gang")
	field(m.Companion, "companion")
	field(m.Owner != "", "for=%q", m.Owner)
	field(m.Priority != 0, "priority=%d", m.Priority)
	field(m.App != "", "app=%q", m.App)
	field(m.Node != "", "node=%q", m.Node)
	field(m.Serves != nil, "serves=%q", m.Serves)
	field(m.Kept != nil, "kept=%v", m.Kept)
	field(m.Reason != "", "reason=%q", m.Reason)
	if m.More != nil {
		field(true, "more=%+v", recorded(m.More))
		field(m.More.Shares != nil, "shares=%+v", m.More.Shares)
		field(m.More.HalfLife != 0, "halflife=%d", m.More.HalfLife)
	}
	return b.String()
}

// recordedMore is a [More] as recordings print it: with the fields, and the names, of the
// first version.
type recordedMore struct {
	Members   []Member
	Probes    []recordedProbe
	Bits      []uint64
	Stamp     Time
	Threshold Time
	Load      Load
	Slots     []Attained
}

type recordedProbe struct {
	Job       JobID
	Owner     Addr
	Class     Class
	Count     int32
	App       string
	Estimate  Time
	Arrival   Time
	Threshold Time
}

func recorded(m *More) recordedMore {
	r := recordedMore{m.Members, make([]recordedProbe, len(m.Probes)), m.Bits, m.Stamp, m.Threshold, m.Load, m.Slots}
	for i := range m.Probes {
		p := &m.Probes[i]
		r.Probes[i] = recordedProbe{p.Job, p.Distributor, p.Class, p.Count, p.App, p.Estimate, p.Arrival, p.Threshold}
	}
	return r
}

// DescribeAction prints an action on one line, as [Describe] does a message.
func DescribeAction(a *Action) string {
	switch a.Kind {
	case Send:
		return fmt.Sprintf("Send to %s: %s", a.To, Describe(&a.Msg))
	case Timer:
		return fmt.Sprintf("Timer at %d token=%d", a.At, a.Token)
	default: // the subject of most is plain from the action
		return fmt.Sprintf("%s %s", a.Kind, strings.TrimPrefix(Describe(&a.Msg), KindNone.String()+" "))
	}
}
