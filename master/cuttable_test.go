package master_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/internal/leadership"
)

var errCut = errors.New("the store cannot be reached from here")

// atomicError is an error that is set while others read it.
type atomicError struct{ p atomic.Pointer[error] }

func (e *atomicError) set(err error) { e.p.Store(&err) }

func (e *atomicError) get() error {
	if p := e.p.Load(); p != nil {
		return *p
	}
	return nil
}

func (c *cuttable) Get(ctx context.Context, name string) (leadership.Record, uint64, bool, error) {
	if err := c.cut.get(); err != nil {
		return leadership.Record{}, 0, false, err
	}
	return c.Memory.Get(ctx, name)
}

func (c *cuttable) Put(ctx context.Context, name string, r leadership.Record, after uint64) (uint64, error) {
	if err := c.cut.get(); err != nil {
		return 0, err
	}
	return c.Memory.Put(ctx, name, r, after)
}

func (c *cuttable) Delete(ctx context.Context, name string, after uint64) error {
	if err := c.cut.get(); err != nil {
		return err
	}
	if c.keeps.Load() {
		return nil
	}
	return c.Memory.Delete(ctx, name, after)
}

func (c *cuttable) Watch(ctx context.Context, name string, change func(leadership.Record, uint64, bool)) error {
	if err := c.cut.get(); err != nil {
		return err
	}
	return c.Memory.Watch(ctx, name, func(r leadership.Record, revision uint64, exists bool) {
		if c.cut.get() == nil {
			change(r, revision, exists)
		}
	})
}
