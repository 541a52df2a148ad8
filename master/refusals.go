package master

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/master/nodes"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// refusal is why a hello was refused; the zero value: it was not.
type refusal struct {
	reason  string // as metrics label it
	problem string
}

// The reasons in addition to those of package nodes.
const (
	refusedGroup   = "group"   // the sender is of another group
	refusedPolicy  = "policy"  // the sender is set to another policy
	refusedEpoch   = "epoch"   // the epoch cannot be
	refusedRole    = "role"    // such a daemon does not register
	refusedVersion = "version" // the sender's version is too far from this one's
	refusedMasters = "masters" // the master is not on this one's list
)

var refusedReasons = []string{
	refusedGroup, refusedPolicy, refusedEpoch, refusedRole, refusedVersion, refusedMasters,
	nodes.RefusedName, nodes.RefusedReplaced, nodes.RefusedSlots, nodes.RefusedNumbers, nodes.RefusedAddress,
}

// newRefusedHellos registers the counters of refused hellos, by reason.
func newRefusedHellos(m *telemetry.Metrics) map[string]prometheus.Counter {
	counters := m.Counters("hellos_refused_total", "Hellos of daemons that were refused, by reason; a refused daemon repeats its hello until the cause is corrected.", "reason", refusedReasons...)
	byReason := map[string]prometheus.Counter{}
	for i, reason := range refusedReasons {
		byReason[reason] = counters[i]
	}
	return byReason
}

// refused counts a refused hello, and logs it unless the same was logged less than a minute ago.
// Two daemons of one name are distinguished by their addresses.
func (o *owner) refused(h *wire.Hello, r refusal) {
	o.metrics.refused[r.reason].Inc()
	if omitted, due := o.refusals.Due(refusedAs(h), r.problem, time.Now()); due {
		o.log.Warn("hello refused", "peer", h.Sender.String(), "error", r.problem, "omitted", omitted)
	}
}

// refusedAs is the subject of the log lines about a daemon's refusals.
func refusedAs(h *wire.Hello) string { return h.Sender.String() + " at " + h.Address }

// checkHello returns why no daemon that sends this hello can register here.
func (o *owner) checkHello(h *wire.Hello) refusal {
	policy, _, _ := strings.Cut(h.Policy, ":")
	switch {
	case h.Group != o.cfg.Group:
		return refusal{refusedGroup, fmt.Sprintf("this is the master of group %d, and %s is configured for group %d; correct its group or its master's address", o.cfg.Group, h.Sender, h.Group)}
	case h.Policy != "" && policy != o.policy.Name:
		return refusal{refusedPolicy, fmt.Sprintf("this master of group %d is set to policy %q, and %s at %s is set to policy %q; set the same policy in all daemons of a cluster and start those again whose setting was changed",
			o.cfg.Group, o.cfg.Policy, h.Sender, h.Address, h.Policy)}
	case daemon.Incompatible(o.version, h.Version) != "":
		return refusal{refusedVersion, fmt.Sprintf("%s: this master of group %d runs the first, and %s at %s the second; upgrade by one minor version at a time, and all daemons before the next one",
			daemon.Incompatible(o.version, h.Version), o.cfg.Group, h.Sender, h.Address)}
	case h.Epoch > sched.MaxEpoch:
		return refusal{refusedEpoch, fmt.Sprintf("%s at %s states epoch %d, and none above %d is accepted, because no number of restarts reaches it; run the same version of pigeon on all hosts and start that daemon again",
			h.Sender, h.Address, h.Epoch, uint64(sched.MaxEpoch))}
	}
	return refusal{}
}
