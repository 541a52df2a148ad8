// Package delay waits between two tries of a call.
package delay

import (
	"context"
	"time"
)

// For returns after d, or as soon as ctx ends. It reports whether ctx goes on.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
