package leaders

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// standing is what an answer shows of its master.
type standing struct {
	standby bool
	leader  string // of a standby: where the leader serves, "" when it does not know
}

// searching is the order in which the masters of a group are asked, once each, beginning with
// the current one. The leader that a standby names comes next, once more if it was asked
// before: then it was slow, or began to lead a moment ago.
type searching struct {
	addresses []string
	asked     []bool
	again     bool // a named leader was asked once more
}

// next returns the index of the master to ask after the answer of another, -1 when
// all were asked. last reports that no other will be asked without a new hint.
func (s *searching) next(from int, leader string) int {
	if i := slices.Index(s.addresses, leader); i >= 0 && i != from {
		if !s.asked[i] {
			return i
		}
		if !s.again {
			s.again = true
			return i
		}
	}
	for k := 1; k < len(s.addresses); k++ {
		if i := (from + k) % len(s.addresses); !s.asked[i] {
			return i
		}
	}
	return -1
}

// left counts the masters that were not asked.
func (s *searching) left() (n int) {
	for _, asked := range s.asked {
		if !asked {
			n++
		}
	}
	return n
}

// search calls the masters until one leads. ctx bounds the whole; a master that does not
// answer uses up no more than its equal part of the time, so that the others are asked too.
func search[R any](ctx context.Context, g *Group, call func(context.Context, *wire.PeerClient) (R, standing, error)) (R, error) {
	if len(g.list) == 1 {
		r, _, err := call(ctx, g.list[0].Peer)
		return r, err
	}
	s := searching{asked: make([]bool, len(g.list))}
	for _, m := range g.list {
		s.addresses = append(s.addresses, m.Address)
	}
	var none R
	why := make([]string, len(g.list))
	switched := g.switched() // before the current one is read, so that no switch is missed
	for i := int(g.current.Load()); i >= 0 && ctx.Err() == nil; {
		s.asked[i] = true
		part, cancel := partOf(ctx, s.left())
		part, end := g.whileCurrent(part, i, switched)
		r, at, err := call(part, g.list[i].Peer)
		end()
		cancel()
		if err == nil && !at.standby {
			g.use(i)
			return r, nil
		}
		why[i] = describe(at, err)
		switched = g.switched()
		if err != nil { // perhaps because another has announced itself
			at.leader = g.Address()
		}
		i = s.next(i, at.leader)
	}
	return none, g.leaderless(why)
}

// partOf returns a context for one call, where so many others may follow and the leader that
// they name once more.
func partOf(ctx context.Context, others int) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded || others == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(others+2))
}

func describe(at standing, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case at.leader != "":
		return "a standby, which names " + at.leader + " as the leader"
	default:
		return "a standby, which knows of no leader"
	}
}

// leaderless is the error of a search in which no master led.
func (g *Group) leaderless(why []string) error {
	var parts []string
	for i, m := range g.list {
		if why[i] != "" {
			parts = append(parts, m.Address+": "+why[i])
		}
	}
	return &api.Error{
		Problem: api.NotReady, What: "none of its masters was found to lead", Subject: g.name,
		Tried: fmt.Sprintf("asking them (%s)", strings.Join(parts, "; ")), Next: "wait for one to take over; if none does, check that NATS with JetStream can be reached by them",
	}
}
