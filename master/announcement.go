package master

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// How a master that begins to lead makes itself known.
const (
	announceAtOnce = 32          // calls at a time
	announceWithin = time.Second // of a call
)

// announce says hello to the daemons that registered with the master that led before, so that
// they register here at once. gone is called, from any goroutine, with each daemon whose address
// refuses connections: its process has ended. announce returns when all have been called.
func announce(ctx context.Context, hello wire.Hello, to map[protocol.Peer]string, codec *wire.Codec, security func(wire.Ref) client.Security, gone func(protocol.Peer)) {
	places := make(chan struct{}, announceAtOnce)
	var calls sync.WaitGroup
	defer calls.Wait()
	for peer, address := range to {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		calls.Go(func() {
			defer func() { <-places }()
			if err := sayHello(ctx, hello, client.Options{Name: peer.Name, Address: address, MaxConns: 1, FailFast: true, Security: security(wire.Ref{Role: peer.Role, Name: peer.Name})}, codec); errors.Is(err, syscall.ECONNREFUSED) {
				gone(peer)
			}
		})
	}
}

// sayHello calls one daemon once. One that does not answer notices by itself, later.
func sayHello(ctx context.Context, hello wire.Hello, o client.Options, codec *wire.Codec) error {
	ctx, cancel := context.WithTimeout(ctx, announceWithin)
	defer cancel()
	pool, err := client.New(o)
	if err != nil {
		return err
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	_, err = wire.NewPeerClient(pool, codec).Hello(ctx, &hello)
	return err
}
