package membership

import (
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// DepartedNode returns a node of a group that has departed, as users see it now.
func DepartedNode(x *protocol.Departure, group int, now sched.Time) api.Node {
	return api.Node{
		ID: x.Name, Group: group, Address: x.Address, Apps: []string{}, Version: x.Version, State: x.State, Reason: x.Reason, StateSeconds: (now - x.Since).Seconds(),
	}
}
