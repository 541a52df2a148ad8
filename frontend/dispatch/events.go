package dispatch

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// publishReached publishes that a group has a master: for the first time, after it was lost, or
// another process than before.
func (s *masters) publishReached(m *master) {
	e := api.Event{Type: api.EventGroupUp, Severity: api.SeverityInfo, Group: new(m.group)}
	switch {
	case m.told == m.incarnation && !m.lost:
		return // it is registered there once more
	case m.told == 0:
		e.Message = fmt.Sprintf("group %d has a master at %s, epoch %d", m.group, m.peer.Address(), m.epoch)
	case m.told == m.incarnation:
		e.Message = fmt.Sprintf("the master of group %d at %s answers again, epoch %d", m.group, m.peer.Address(), m.epoch)
	default:
		e.Type, e.Severity = api.EventGroupChanged, api.SeverityWarning
		e.Message = fmt.Sprintf("group %d has another master than before, at %s, epoch %d: it was started again, or a standby leads", m.group, m.peer.Address(), m.epoch)
	}
	m.told, m.lost = m.incarnation, false
	s.opts.Events.Publish(e)
}

// publishLost publishes that a group is without a master.
func (s *masters) publishLost(m *master) {
	m.lost = true
	s.opts.Events.Publish(api.Event{
		Type: api.EventGroupLost, Severity: api.SeverityError, Group: new(m.group),
		Message: fmt.Sprintf("group %d has had no master for %v: its tasks are distributed again, except those that its nodes go on reporting", m.group, s.opts.MasterLost),
	})
}
