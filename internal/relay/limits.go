package relay

import "fmt"

// FullError is the answer to Send when a bound is reached.
type FullError struct {
	Bound   string
	Refused bool // it is the bound of messages that the destination has refused for now
}

// Error implements error.
func (e *FullError) Error() string { return e.Bound }

const (
	// userPart is the part of Messages and of Bytes of a destination that those of one user may have.
	userPart = 2
	// refusedPart is the part of them that those of all refused streams may have, and refusedStreamPart
	// that of one of them: however long they wait, those of others find room, and of the same user too.
	refusedPart       = 2
	refusedStreamPart = 4
)

// boundReached returns the bound that a message would exceed, nil for none. The caller
// holds the lock.
func (r *Relay[M]) boundReached(q *queue[M], stream, group string, m *message[M]) *FullError {
	o := &r.opts
	if q == nil {
		q = &queue[M]{}
		if len(r.queues) >= o.Destinations {
			return &FullError{Bound: fmt.Sprintf("messages wait for %d destinations, which is the limit", o.Destinations)}
		}
	}
	if bound := r.partReached(q, m); bound != "" {
		return &FullError{Bound: bound}
	}
	if s := q.streams[stream]; s != nil && s.refused {
		if bound := r.refusedReached(q, s, m); bound != "" {
			return &FullError{Bound: bound, Refused: true}
		}
	}
	switch size := m.size; {
	case group != "" && r.groups[group]+size > o.GroupBytes:
		return &FullError{Bound: fmt.Sprintf("%d bytes of messages wait for all destinations of %s; the limit is %d", r.groups[group], group, o.GroupBytes)}
	case o.TotalBytes > 0 && r.bytes+size > o.TotalBytes:
		return &FullError{Bound: fmt.Sprintf("%d bytes of messages wait for all destinations; the limit is %d", r.bytes, o.TotalBytes)}
	}
	return nil
}

// partReached returns the bound of one destination that a message would exceed, of all messages and of
// those of its user, "" for none.
func (r *Relay[M]) partReached(q *queue[M], m *message[M]) string {
	o, size := &r.opts, m.size
	switch of, most := q.users[m.user], max(1, o.Messages/userPart); {
	case q.all.messages >= o.Messages:
		return fmt.Sprintf("%d messages wait for it, which is the limit%s", o.Messages, named("", o.Setting))
	case m.user != "" && of.messages >= most:
		return fmt.Sprintf("%d messages of %s wait for it, which is the limit for one user%s", of.messages, m.user, named("half of ", o.Setting))
	case q.all.messages > 0 && o.Bytes > 0 && q.all.bytes+size > o.Bytes:
		return fmt.Sprintf("%d bytes of messages wait for it; the limit is %d", q.all.bytes, o.Bytes)
	case m.user != "" && of.messages > 0 && o.Bytes > 0 && of.bytes+size > o.Bytes/userPart:
		return fmt.Sprintf("%d bytes of messages of %s wait for it; the limit for one user is %d", of.bytes, m.user, o.Bytes/userPart)
	}
	return ""
}

// refusedReached returns the bound of refused messages that one more of a refused stream would exceed, ""
// for none.
func (r *Relay[M]) refusedReached(q *queue[M], s *stream[M], m *message[M]) string {
	o := &r.opts
	switch {
	case s.all.messages >= max(1, o.Messages/refusedStreamPart):
		return fmt.Sprintf("%d messages of the same application, for which it has no room, wait for it, which is the limit%s", s.all.messages, named("a quarter of ", o.Setting))
	case q.refused.messages >= max(1, o.Messages/refusedPart):
		return fmt.Sprintf("%d messages for which it has no room wait for it, which is the limit%s", q.refused.messages, named("half of ", o.Setting))
	case o.Bytes > 0 && s.all.bytes+m.size > o.Bytes/refusedStreamPart:
		return fmt.Sprintf("%d bytes of messages of the same application, for which it has no room, wait for it; the limit is %d", s.all.bytes, o.Bytes/refusedStreamPart)
	case o.Bytes > 0 && q.refused.bytes+m.size > o.Bytes/refusedPart:
		return fmt.Sprintf("%d bytes of messages for which it has no room wait for it; the limit is %d", q.refused.bytes, o.Bytes/refusedPart)
	}
	return ""
}

// named returns what names a part of a setting in a refusal, "" for no setting.
func named(part, setting string) string {
	if setting == "" {
		return ""
	}
	return " (" + part + setting + ")"
}
