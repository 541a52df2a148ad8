package api

import (
	"cmp"
	"slices"
	"strings"
)

// OwnerShares is how slots are shared between owners, and what owners may hold at a frontend.
type OwnerShares struct {
	Groups []GroupOwners // each group is shared by itself
	Quotas OwnerQuotas   // of the frontend that answered
}

// GroupOwners is how the slots of one group are shared between owners.
type GroupOwners struct {
	Group        int          `json:"group"`                   // its number
	Reachable    bool         `json:"reachable"`               // whether its master answered; without an answer all else is 0
	Fair         bool         `json:"fair"`                    // whether its policy shares slots between owners
	Slots        int          `json:"slots"`                   // all that serve tasks
	HalfLife     float64      `json:"half_life"`               // seconds after which half of an owner's use of the long class is forgotten; 0: nothing is remembered
	Owners       []OwnerShare `json:"owners"`                  // each after its parent, the whole first
	Omitted      int          `json:"omitted,omitempty"`       // owners beyond the most that are listed
	Problem      string       `json:"problem,omitempty"`       // why the shares could not be read again; those before stay in effect
	ProblemSince float64      `json:"problem_since,omitempty"` // Unix seconds of the first of these attempts
}

// OwnerShare is what an owner, with all owners below it, is entitled to in a group and what
// it has.
type OwnerShare struct {
	Owner        string  `json:"owner"`         // its path; "" stands for all owners
	Weight       float64 `json:"weight"`        // as configured, or 1
	Max          float64 `json:"max,omitempty"` // most of the slots that it has at a time, 0..1; 0: no limit
	Min          float64 `json:"min,omitempty"` // part of the slots below which it is served first, 0..1; 0: none
	Entitled     float64 `json:"entitled"`      // slots, with the owners that want some now
	RunningShort int     `json:"running_short"` // slots that run its short tasks
	RunningLong  int     `json:"running_long"`  // slots that run its long tasks
	QueuedShort  int     `json:"queued_short"`  // its short tasks that wait
	QueuedLong   int     `json:"queued_long"`   // its long tasks that wait
	UsedShort    float64 `json:"used_short"`    // slot-seconds of short tasks, since its master knows it
	UsedLong     float64 `json:"used_long"`     // slot-seconds of long tasks, as far as they are remembered
	LeadShort    float64 `json:"lead_short"`    // how many slot-seconds it is ahead of the owner of its level that is served next
	LeadLong     float64 `json:"lead_long"`     // the same of long tasks
}

// OwnerQuotas are the quotas of one frontend.
type OwnerQuotas struct {
	Frontend     string       `json:"frontend"`                // its name
	DefaultTasks int          `json:"default_tasks"`           // quota of an owner that none names; 0: none
	DefaultBytes int64        `json:"default_bytes"`           // the same in bytes
	Quotas       []QuotaState `json:"quotas"`                  // of the owners that have one, by their path
	Problem      string       `json:"problem,omitempty"`       // why the quotas could not be read again; those before stay in effect
	ProblemSince float64      `json:"problem_since,omitempty"` // Unix seconds of the first of these attempts
}

// QuotaState is what an owner, with all owners below it, holds at one frontend, and its quota.
type QuotaState struct {
	Owner    string `json:"owner"`     // its path
	Tasks    int    `json:"tasks"`     // unfinished
	MaxTasks int    `json:"max_tasks"` // 0: no limit
	Bytes    int64  `json:"bytes"`     // of its unfinished jobs
	MaxBytes int64  `json:"max_bytes"` // 0: no limit
}

// SumOwners returns the owners of several groups as one list, each after its parent,
// children by path: slots, tasks and slot-seconds are summed, settings are those of the first
// group that has the owner.
func SumOwners(groups []GroupOwners) []OwnerShare {
	at := map[string]int{}
	var sum []OwnerShare
	for g := range groups {
		for _, o := range groups[g].Owners {
			i, ok := at[o.Owner]
			if !ok {
				at[o.Owner] = len(sum)
				sum = append(sum, o)
				continue
			}
			sum[i].add(&o)
		}
	}
	slices.SortFunc(sum, func(a, b OwnerShare) int { return compareOwners(a.Owner, b.Owner) })
	return sum
}

func (s *OwnerShare) add(o *OwnerShare) {
	s.Entitled += o.Entitled
	s.RunningShort, s.RunningLong = s.RunningShort+o.RunningShort, s.RunningLong+o.RunningLong
	s.QueuedShort, s.QueuedLong = s.QueuedShort+o.QueuedShort, s.QueuedLong+o.QueuedLong
	s.UsedShort, s.UsedLong = s.UsedShort+o.UsedShort, s.UsedLong+o.UsedLong
	s.LeadShort, s.LeadLong = s.LeadShort+o.LeadShort, s.LeadLong+o.LeadLong
}

// compareOwners orders paths level by level, so that each follows its parent at once.
func compareOwners(a, b string) int {
	for {
		levelA, restA, moreA := strings.Cut(a, "/")
		levelB, restB, moreB := strings.Cut(b, "/")
		switch c := strings.Compare(levelA, levelB); {
		case c != 0:
			return c
		case !moreA || !moreB:
			return cmp.Compare(len(a), len(b))
		}
		a, b = restA, restB
	}
}
