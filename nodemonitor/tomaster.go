package nodemonitor

import (
	"context"
	"errors"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// confirming tells when the master has taken refusals, or never will. Until then
// their slots' sequence numbers must not reach it by another way.
type confirming struct {
	to        link.Deliverer
	confirmed func(refused []wire.Item)
}

// Deliver implements link.Deliverer.
func (c confirming) Deliver(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
	r, err := c.to.Deliver(ctx, b)
	if err == nil || isInvalid(err) {
		if refused := refusals(b.Items); len(refused) > 0 {
			c.confirmed(refused)
		}
	}
	return r, err
}

func isInvalid(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Problem == api.Invalid
}

// refusals copies the refusals among the items.
func refusals(items []wire.Item) []wire.Item {
	if !slices.ContainsFunc(items, isRefusal) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(items), func(it wire.Item) bool { return !isRefusal(it) })
}

func isRefusal(it wire.Item) bool { return it.Msg.Kind == sched.Refused }
