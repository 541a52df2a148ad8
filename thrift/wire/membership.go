package wire

import (
	"context"
	"time"
)

// Membership is the live nodes and frontends that are registered with a master.
type Membership struct {
	Incarnation int64  // of the master's process
	Version     uint64 // grows with each change within the incarnation
	Nodes       []MemberNode
	Frontends   []MemberFrontend
}

// MemberNode is a live node of a membership.
type MemberNode struct {
	Name        string
	Address     string // where it serves other daemons
	Incarnation int64
	// Numbers are those of its workers plus one, slot by slot; 0 for a slot that was
	// removed, or under a policy that numbers none.
	Numbers  []int32
	Slots    int    // 0 from a master of an earlier version
	Memory   int64  // MB for the processes of applications
	Host     string // as applications know it
	Draining bool   // it takes nothing new
	// DiskFault is why, when the disk of its work folder, or its guard, is at fault.
	DiskFault string
}

// MemberFrontend is a live frontend of a membership.
type MemberFrontend struct {
	Name        string
	Address     string
	Incarnation int64
	Scheduler   string // where it serves applications
}

// MembershipSource publishes a membership; a master is one.
type MembershipSource interface {
	// Membership answers when the membership differs from the one named by
	// incarnation and version, or after the wait with the same.
	Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (Membership, error)
}
