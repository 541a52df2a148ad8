package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"
)

// Caller runs a function with a connection to one address that has no other user in the
// meantime; a pool of package client is one.
type Caller interface {
	Do(ctx context.Context, call func(context.Context, thrift.TClient) error) error
}

// invoke makes one call and translates its error.
func invoke[T any](ctx context.Context, c Caller, tried string, call func(context.Context, thrift.TClient) (T, error)) (answer T, err error) {
	err = c.Do(ctx, func(ctx context.Context, client thrift.TClient) (err error) {
		answer, err = call(ctx, client)
		return err
	})
	if err != nil {
		var none T
		return none, callError(err, tried)
	}
	return answer, nil
}

// invokeVoid makes one call that returns nothing.
func invokeVoid(ctx context.Context, c Caller, tried string, call func(context.Context, thrift.TClient) error) error {
	if err := c.Do(ctx, call); err != nil {
		return callError(err, tried)
	}
	return nil
}
