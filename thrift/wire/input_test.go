package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A piece that no task could take is refused with the limit.
func TestInputIsBounded(t *testing.T) {
	scheduler, node := &fakeScheduler{}, &fakePeer{}
	c, p := dialScheduler(t, scheduler), dialPeer(t, wire.PeerPorts{Input: node}, wire.NewCodec(newNames(), at(0)))
	for want, piece := range map[string]wire.Input{
		"it has 65537 bytes, more than the limit of 65536": {Data: make([]byte, wire.MaxInput+1)},
		"it begins at byte -1":                             {Offset: -1},
		"not within 0 and 10s":                             {Wait: time.Minute},
	} {
		_, err1 := c.TaskInput(t.Context(), wire.InputRequest{Piece: piece})
		_, err2 := p.AttemptInput(t.Context(), sched.AttemptID{}, piece)
		for _, err := range []error{err1, err2} {
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(e.What, want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	if len(scheduler.calls())+len(node.calls()) != 0 {
		t.Errorf("%v %v", scheduler.calls(), node.calls())
	}
}
