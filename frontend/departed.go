package frontend

import (
	"context"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// ForgetNode makes every master stop showing a node or frontend that is lost or stopped,
// and returns the groups that showed it.
func (srv *schedulerService) ForgetNode(ctx context.Context, name string) (groups []int32, err error) {
	refused := func(problem api.Problem, what, next string) error {
		return notForgotten(problem, what, name, next)
	}
	if name == "" {
		return nil, refused(api.Invalid, "no node was named", "give the name of a node that 'pigeon nodes' shows as lost or stopped")
	}
	server.Concerns(ctx, "node "+name)
	answers := srv.owner.dispatch.ForgetNode(ctx, name)
	var failed []string
	for i := range answers {
		switch a := &answers[i]; {
		case a.Forgotten:
			groups = append(groups, int32(i)) //nolint:gosec // 15 bits
		case a.Registered != nil:
			err = a.Registered
		case !a.Reached:
			failed = append(failed, fmt.Sprint(i))
		}
	}
	switch {
	case err != nil || len(groups) > 0:
		if len(groups) > 0 {
			srv.nodeEvent(ctx, api.EventNodeForgotten, name, "is forgotten: masters do not show it any more")
		}
		return groups, err
	case len(failed) > 0:
		return nil, refused(api.NotReady, "the masters that answer do not know it, and those of groups "+strings.Join(failed, ", ")+" cannot be reached", "try again when they are back")
	}
	return nil, refused(api.NotFound, "no master knows it: it was never registered, was forgotten already, or has been gone for longer than forget_after", "see 'pigeon nodes' for the names")
}
