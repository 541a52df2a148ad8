package shares

import (
	"fmt"
	"math"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The bounds of a list of shares.
const (
	LeastWeight = 0.001
	MostWeight  = 1_000_000
	MostShares  = 10_000 // in one list
	MostLevels  = 8      // of an owner's path
	MostBytes   = 255    // of an owner's path
)

// slack is how far sums of parts may be off, since 0.1 is no binary fraction.
const slack = 1e-9

// Check returns what is wrong with the first invalid entry of a list of shares, nil when
// a tree accepts the list. The error names the owner, the value and the limit.
func Check(list []sched.Share) error {
	if len(list) > MostShares {
		return fmt.Errorf("%d shares are given; at most %d can be", len(list), MostShares)
	}
	known := make(map[string]*sched.Share, len(list))
	for i := range list {
		s := &list[i]
		if err := check(s); err != nil {
			return err
		}
		if known[s.Owner] != nil {
			return fmt.Errorf("owner %q has two shares; give it one", s.Owner)
		}
		known[s.Owner] = s
	}
	return checkMinima(list, known)
}

// check is Check of one share by itself.
func check(s *sched.Share) error {
	if err := checkPath(s.Owner); err != nil {
		return err
	}
	switch {
	case !(s.Weight >= LeastWeight && s.Weight <= MostWeight):
		return fmt.Errorf("the weight of owner %q is %v; a weight is from %v to %d", s.Owner, s.Weight, LeastWeight, MostWeight)
	case !(s.Max >= 0 && s.Max <= 1):
		return fmt.Errorf("the max of owner %q is %v; it is a share of the slots, above 0 and at most 1, or is left out", s.Owner, s.Max)
	case !(s.Min >= 0 && s.Min <= 1):
		return fmt.Errorf("the min of owner %q is %v; it is a share of the slots, from 0 to 1", s.Owner, s.Min)
	case s.Max > 0 && s.Min > s.Max:
		return fmt.Errorf("the min of owner %q is %v, above its max, %v", s.Owner, s.Min, s.Max)
	}
	return nil
}

func checkPath(path string) error {
	switch levels := strings.Count(path, "/") + 1; {
	case path == "":
		return fmt.Errorf("a share names no owner")
	case len(path) > MostBytes:
		return fmt.Errorf("owner %q... has %d bytes; at most %d are allowed", path[:40], len(path), MostBytes)
	case levels > MostLevels:
		return fmt.Errorf("owner %q has %d levels; at most %d are allowed", path, levels, MostLevels)
	case strings.HasPrefix(path, "/"), strings.HasSuffix(path, "/"), strings.Contains(path, "//"):
		return fmt.Errorf("owner %q has an empty level", path)
	}
	return nil
}

// checkMinima reports owners with the same parent that are promised more than all slots,
// or more than their parent may have.
func checkMinima(list []sched.Share, known map[string]*sched.Share) error {
	sums := make(map[string]float64, len(list))
	for i := range list {
		s := &list[i]
		if s.Min == 0 {
			continue
		}
		above := parentPath(s.Owner)
		sums[above] += s.Min
		limit, whose := 1.0, "of all slots"
		if p := known[above]; p != nil && p.Max > 0 {
			limit, whose = p.Max, fmt.Sprintf("that %q may have at most", above)
		}
		if sums[above] > limit+slack {
			return fmt.Errorf("with owner %q, the minima of the owners below %q sum to %v, above the share %v %s",
				s.Owner, above, math.Round(sums[above]*1e6)/1e6, limit, whose)
		}
	}
	return nil
}

// parentPath returns the path without its last level, "" for a path of one level.
func parentPath(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}
