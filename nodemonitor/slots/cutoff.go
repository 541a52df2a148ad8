package slots

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// Contact is when the node and its master last agreed that the node is registered, and
// how often the node has learnt that it is not any more.
type Contact func() (since time.Time, lapses int)

// cutOff returns why an attempt must not continue: its job limits how long its node may
// be cut off from the master (max_disconnect), and the node has been cut off for longer, or
// has been given up meanwhile. "" when it may continue. The frontend starts the next attempt
// elsewhere only when that time is over.
func (s *attempts) cutOff(a *attempt) string {
	if a.MaxDisconnect <= 0 {
		return ""
	}
	switch since, lapses := s.cfg.Contact(); {
	case lapses != a.lapses:
		return fmt.Sprintf("node %s was given up by its master while it ran there, and its job limits that (max_disconnect %v)", s.cfg.Self.Ref.Name, a.MaxDisconnect)
	case time.Since(since) >= a.MaxDisconnect:
		return fmt.Sprintf("node %s was cut off from its master for %v (max_disconnect)", s.cfg.Self.Ref.Name, a.MaxDisconnect)
	}
	return ""
}

// StopCutOff stops the attempts that must not continue because the node is cut off from
// its master. It is called once every heartbeat.
func (s *Workers) StopCutOff() {
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.MaxDisconnect <= 0 || a.backend == nil || a.cut != "" {
				continue
			}
			if a.cut = s.attempts.cutOff(a); a.cut != "" {
				telemetry.LogTrace(s.cfg.Log, telemetry.Carrier(a.Trace)).Warn("stopping an attempt whose job limits for how long its node is cut off", "attempt", a.id, "job", a.JobName, "reason", a.cut)
				a.kill()
			}
		}
	}
}

// withdrawn gives back a killed attempt, with the reason, when this node itself decided to
// end it: it counts nothing against the task. One that was ended at its time limit has
// failed. One that somebody else has ended was killed, although its backend gives it back as one that
// could not begin.
func (s *Workers) withdrawn(a *attempt, r *backend.Result) {
	if r.Outcome == sched.Yielded && a.killed && !a.overtime && a.cut == "" {
		r.Outcome, r.Reason = sched.Killed, ""
	}
	switch {
	case r.Outcome != sched.Killed:
	case a.cut != "":
		r.Outcome, r.Reason = sched.Yielded, a.cut
	case a.overtime:
		r.Outcome, r.Reason, r.Code = sched.Failed, s.overtimeReason(a, r), api.CodeTimeLimit
	case s.admission.stopping && !a.killed:
		r.Outcome, r.Reason = sched.Yielded, fmt.Sprintf("node %s stopped", s.cfg.Self.Ref.Name)
	}
}
