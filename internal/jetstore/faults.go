package jetstore

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// silentAfter is how long a server may be silent before it counts as one that keeps nothing.
const silentAfter = 5 * time.Second

// Faults returns what is wrong with the servers that keep the leaderships.
func (l leaderships) Faults(ctx context.Context) ([]string, error) {
	return l.store.Faults(ctx, bucketPrefix+l.store.leadershipBucket())
}

// Faults returns a sentence about each server that does not keep a stream as it should, by the names
// of the servers. Nothing else shows that one of three is missing: the other two have a majority,
// until one of them is lost as well.
func (s *Store) Faults(ctx context.Context, stream string) ([]string, error) {
	kept, err := s.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	if group := kept.CachedInfo().Cluster; group != nil {
		for _, r := range group.Replicas {
			switch {
			case r.Offline:
				of[r.Name] = "is down, or the other servers cannot reach it"
			case !r.Current && r.Active > silentAfter:
				of[r.Name] = "has confirmed nothing for " + r.Active.Truncate(time.Second).String()
			}
		}
	}
	described, err := s.describe(ctx, slog.New(slog.DiscardHandler)) // Open has logged what does not answer
	if err != nil {
		return nil, err
	}
	for _, d := range described {
		if d.Data.Disabled {
			of[d.Server.Name] = "has switched JetStream off, as it does when its disk is full"
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("NATS server %s %s", name, of[name]))
	}
	return list, nil
}
