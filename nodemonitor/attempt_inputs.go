package nodemonitor

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/process"
	"github.com/pigeon-sched/pigeon/nodemonitor/backends"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attemptInputs takes the standard input of exec attempts from other daemons.
type attemptInputs struct{ set *backends.Set }

var _ wire.InputReceiver = attemptInputs{}

// AttemptInput implements wire.InputReceiver.
func (i attemptInputs) AttemptInput(ctx context.Context, id sched.AttemptID, piece wire.Input) (wire.InputReply, error) {
	p := process.Piece(piece)
	s, err := i.set.Input(ctx, id, &p)
	return wire.InputReply{UpTo: s.Taken, Closed: s.Closed}, err
}
