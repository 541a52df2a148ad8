package leadership

import (
	"context"
	"errors"
	"time"
)

// Record is what the leader of a name writes there.
type Record struct {
	Holder      string        `json:"holder"`      // the leader's id
	Address     string        `json:"address"`     // where it is reached
	Incarnation int64         `json:"incarnation"` // of its process
	TTL         time.Duration `json:"ttl_ns"`      // how long the leadership lasts without renewal
	// Token is the revision at which the leadership was acquired; 0 in the write that
	// acquires it, whose own revision it is. Candidates hand records out with it set.
	Token uint64 `json:"token"`
}

// ErrConflict is returned by a [Store] that refused a write because the newest revision
// is another than the one that the write named.
var ErrConflict = errors.New("the record was changed meanwhile")

// Store keeps a record under each name. A write that returned another error than ErrConflict
// may have been carried out, or be carried out later.
type Store interface {
	// Get returns the record of the name; found is false when there is none.
	Get(ctx context.Context, name string) (r Record, revision uint64, found bool, err error)
	// Put replaces the record if after is its newest revision, and creates it if
	// after is 0 and there is none. After a removal, after is the revision of the removal
	// or 0. Revisions of later writes are higher.
	Put(ctx context.Context, name string, r Record, after uint64) (revision uint64, err error)
	// Delete removes the record if after is its newest revision.
	Delete(ctx context.Context, name string, after uint64) error
	// Watch calls the function with the record as it is and after each change, one at
	// a time, until ctx ends or the store cannot continue. It may skip changes that
	// were followed by another, and it may be silent for a while.
	Watch(ctx context.Context, name string, change func(r Record, revision uint64, exists bool)) error
}
