package wire

import (
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// noAge marks a message without an arrival.
const noAge = -1

// messageTo writes the core's part of a message into t.
func (c *Codec) messageTo(m *sched.Message, now sched.Time, t *peer.TMessage) (err error) {
	if int(m.Kind) >= len(kindNumbers) || kindNumbers[m.Kind] == 0 {
		return fmt.Errorf("its kind %v has no number on the wire", m.Kind)
	}
	if t.Peer, err = c.addrTo(m.Peer); err != nil {
		return err
	}
	if t.Distributor, err = c.addrTo(m.Distributor); err != nil {
		return err
	}
	t.Kind, t.JobClass, t.Outcome = kindNumbers[m.Kind], int8(m.Class), int8(m.Outcome) // small enumerations
	t.Head, t.Resent, t.Reserved, t.Fixed, t.Full = m.Head, m.Resent, m.Reserved, m.Fixed, m.Full
	t.Retries, t.Losses = int16(m.Retries), int16(m.Losses)
	t.Stoppable, t.Restartable = m.Marks.Has(sched.Stoppable), m.Marks.Has(sched.Restartable)
	t.Canary, t.Moved, t.Undeclared = m.Marks.Has(sched.Canary), m.Marks.Has(sched.Moved), m.Marks.Has(sched.Undeclared)
	t.Apart = m.Marks.Has(sched.Apart)
	t.First, t.Count, t.Total, t.Attempt = m.First, m.Count, m.Total, m.Attempt
	t.JobHi, t.JobLo = bits(m.Job.Hi), bits(m.Job.Lo)
	t.Key, t.Seq, t.Epoch, t.Token = bits(m.Key), bits(m.Seq), bits(m.Epoch), bits(m.Token)
	t.EstimateNanos, t.AgeNanos = int64(m.Estimate), ageTo(m.Arrival, now)
	t.App, t.Node, t.Reason, t.Serves = m.App, m.Node, m.Reason, m.Serves
	t.Owner, t.Priority = m.Owner, m.Priority
	t.Kept, t.CoreDisconnectNanos, t.CoreMaxRunning = mapped(m.Kept, attemptIDTo), int64(m.MaxDisconnect), m.MaxRunning
	t.Slots, t.Gang, t.Companion = m.Slots, m.Gang, m.Companion
	t.More, err = c.moreTo(m.More, now)
	return err
}

// messageFrom reads the core's part of t.
func (c *Codec) messageFrom(t *peer.TMessage, now sched.Time, m *sched.Message) (err error) {
	if err := checkMessage(t); err != nil {
		return err
	}
	if m.Peer, err = c.addrFrom(t.Peer); err != nil {
		return err
	}
	if m.Distributor, err = c.addrFrom(t.Distributor); err != nil {
		return err
	}
	m.Kind, m.Class, m.Outcome = kindsByNumber[t.Kind], sched.Class(t.JobClass), sched.Outcome(t.Outcome) // checked
	m.Head, m.Resent, m.Reserved, m.Fixed, m.Full = t.Head, t.Resent, t.Reserved, t.Fixed, t.Full
	m.Retries, m.Losses = uint8(t.Retries), uint8(t.Losses) // checked
	m.Marks = marksFrom(t)
	m.First, m.Count, m.Total, m.Attempt = t.First, t.Count, t.Total, t.Attempt
	m.Job = sched.JobID{Hi: unbits(t.JobHi), Lo: unbits(t.JobLo)}
	m.Key, m.Seq, m.Epoch, m.Token = unbits(t.Key), unbits(t.Seq), unbits(t.Epoch), unbits(t.Token)
	m.Estimate = sched.Time(t.EstimateNanos)
	m.Arrival = ageFrom(t.AgeNanos, now)
	m.App, m.Node, m.Reason, m.Serves = t.App, t.Node, t.Reason, t.Serves
	m.Owner, m.Priority = t.Owner, t.Priority
	m.Kept, m.MaxDisconnect, m.MaxRunning = mapped(t.Kept, attemptIDFrom), sched.Time(t.CoreDisconnectNanos), t.CoreMaxRunning
	m.Slots, m.Gang, m.Companion = t.Slots, t.Gang, t.Companion
	m.More, err = c.moreFrom(t.More, now)
	return err
}

func marksFrom(t *peer.TMessage) (m sched.Marks) {
	if t.Stoppable {
		m |= sched.Stoppable
	}
	if t.Restartable {
		m |= sched.Restartable
	}
	if t.Canary {
		m |= sched.Canary
	}
	if t.Moved {
		m |= sched.Moved
	}
	if t.Undeclared {
		m |= sched.Undeclared
	}
	if t.Apart {
		m |= sched.Apart
	}
	return m
}

// ageTo returns how long ago an arrival was; 0 stands for an unknown
// arrival, and noAge for its age.
func ageTo(arrival, now sched.Time) int64 {
	if arrival == 0 {
		return noAge
	}
	return max(int64(now-arrival), 0)
}

// ageFrom is the inverse, by the clock of the receiver.
func ageFrom(age int64, now sched.Time) sched.Time {
	switch {
	case age < 0:
		return 0
	case now == sched.Time(age):
		return -1 // because 0 means that no arrival is known
	default:
		return now - sched.Time(age)
	}
}

// checkMessage rejects messages that no daemon of this version sends.
func checkMessage(t *peer.TMessage) error {
	switch {
	case t.Kind <= 0 || kindsByNumber[t.Kind] == sched.KindNone:
		return fmt.Errorf("its kind %d is not known here", t.Kind)
	case t.JobClass < 0 || t.JobClass >= sched.NumClasses:
		return fmt.Errorf("its class %d does not exist", t.JobClass)
	case t.Outcome < 0 || t.Outcome > int8(sched.Yielded):
		return fmt.Errorf("its outcome %d does not exist", t.Outcome)
	case t.Retries < 0 || t.Retries > 255 || t.Losses < 0 || t.Losses > 255:
		return fmt.Errorf("its retries %d or losses %d are out of range", t.Retries, t.Losses)
	case t.First < 0 || t.Count < 0 || t.First > api.MaxTasks || t.Count > api.MaxTasks-t.First:
		return fmt.Errorf("its tasks %d+%d are outside the %d of a job", t.First, t.Count, api.MaxTasks)
	case t.Total < 0 || t.Total > api.MaxTasks:
		return fmt.Errorf("its job's total of %d tasks is outside the %d of a job", t.Total, api.MaxTasks)
	case unbits(t.Epoch) > sched.MaxEpoch:
		return errors.New(epochFault(unbits(t.Epoch)))
	case t.Attempt < 0:
		return errors.New("its attempt is negative")
	case len(t.Payloads) > 1 && len(t.Payloads) != int(t.Count):
		return fmt.Errorf("it has %d payloads for %d tasks", len(t.Payloads), t.Count)
	case len(t.TaskIds) > 0 && len(t.TaskIds) != max(int(t.Count), 1) && !ofOneTask(t):
		return fmt.Errorf("it has %d task ids for %d tasks", len(t.TaskIds), t.Count)
	}
	return checkMore(t.More)
}

// ofOneTask reports whether the message is a launch with its task's name: its count
// is that of the job's other tasks, which still wait.
func ofOneTask(t *peer.TMessage) bool {
	return kindsByNumber[t.Kind] == sched.Launch && len(t.TaskIds) == 1
}
