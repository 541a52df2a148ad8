package keys

import (
	"context"
	"errors"
)

// Home is the frontend that may accept a job under a key.
type Home struct {
	Frontend string `json:"frontend"` // its name
	Address  string `json:"address"`  // where it served when it wrote this
}

// ErrConflict is returned by a [Store] that refused a write because the newest revision is not
// the one that the write named.
var ErrConflict = errors.New("the home of the key was changed meanwhile")

// Store keeps the homes of keys. A write that returned another error than ErrConflict may have
// been carried out, or be carried out later.
type Store interface {
	// Get returns the home of a key; found is false when it has none.
	Get(ctx context.Context, key string) (h Home, revision uint64, found bool, err error)
	// Put replaces the home if after is its newest revision, and creates it if after is 0 and
	// there is none. Revisions of later writes are higher.
	Put(ctx context.Context, key string, h Home, after uint64) (revision uint64, err error)
}

// Knowledge is what a frontend answers about a key.
type Knowledge int

// The answers.
const (
	Unasked  Knowledge = iota // no frontend was asked yet
	Knows                     // it has the job
	Ignorant                  // it has no such job, and no submission of it is in progress
	Silent                    // unknown: it does not answer, or is accepting the job
)

// step is what to do about a key that has a home.
type step int

const (
	askHome   step = iota // ask the home what it knows of the key
	write                 // this frontend as its home, in place of the revision that was read
	refuse                // the job is there
	refuseNow             // whether it is there cannot be known at the moment
)

// decide returns what to do about a key whose home is h, at the frontend named self, when its
// home has given this answer.
func decide(self string, h Home, answer Knowledge) step {
	switch {
	case h.Frontend == self:
		// This frontend does not have the job, or it would not have looked. The write
		// invalidates what others have read of the home before.
		return write
	case answer == Unasked:
		return askHome
	case answer == Knows:
		return refuse
	case answer == Ignorant:
		return write
	default:
		return refuseNow
	}
}
