package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// openBucket finds or makes the object store of the cluster.
func (s *Store) openBucket(ctx context.Context) (jetstream.ObjectStore, error) {
	if s.bucket != nil {
		return s.bucket, nil
	}
	name := jetstore.SnapshotStore(s.opts.Cluster)
	b, err := s.js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = s.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: name, Description: fmt.Sprintf("snapshots of the journals of the Pigeon cluster %q", s.opts.Cluster), Storage: jetstream.FileStorage,
			Replicas: s.opts.Replicas, Metadata: map[string]string{metaFormat: streamFormat, metaCluster: s.opts.Cluster, metaIdentity: s.opts.ClusterID},
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			b, err = s.js.ObjectStore(ctx, name)
		}
	}
	if err != nil {
		return nil, err
	}
	status, err := b.Status(ctx)
	if err != nil {
		return nil, err
	}
	switch meta := status.Metadata(); {
	case meta[metaCluster] != s.opts.Cluster:
		return nil, wrongBucket(name, fmt.Sprintf("it belongs to cluster %q, this is cluster %q", meta[metaCluster], s.opts.Cluster), "remove it, or give the cluster another name")
	case s.opts.ClusterID != "" && meta[metaIdentity] != s.opts.ClusterID:
		return nil, wrongBucket(name, fmt.Sprintf("it belongs to another cluster of that name, with the id %q; this one has %q", meta[metaIdentity], s.opts.ClusterID),
			"give one of the two clusters another name (cluster), or correct cluster_id or nats")
	case status.Replicas() < s.opts.Replicas:
		return nil, wrongBucket(name, fmt.Sprintf("it has %d replicas, %d are configured (nats_replicas)", status.Replicas(), s.opts.Replicas),
			fmt.Sprintf("give it %d replicas (nats stream edit OBJ_%s --replicas %d)", s.opts.Replicas, name, s.opts.Replicas))
	case status.Storage() != jetstream.FileStorage:
		return nil, wrongBucket(name, "it is kept in memory", "remove it: it is made again in files")
	}
	s.bucket = b
	return b, nil
}

// snapshotsOf returns the sequence numbers of the snapshots of this frontend, the newest first, and
// the names of those that were not ended.
func (s *Store) snapshotsOf(ctx context.Context, bucket jetstream.ObjectStore) (sequences []uint64, unended []string, err error) {
	list, err := bucket.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil, nil
	}
	prefix := jetstore.SnapshotPrefix(s.opts.Frontend)
	for _, o := range list {
		rest, mine := strings.CutPrefix(o.Name, prefix)
		if !mine {
			continue
		}
		if n, err := strconv.ParseUint(rest, 10, 64); err == nil {
			sequences = append(sequences, n)
		} else if rest != fmt.Sprintf("new-%x", s.writer) {
			unended = append(unended, o.Name)
		}
	}
	slices.Sort(sequences)
	slices.Reverse(sequences)
	return sequences, unended, err
}

// removeSnapshots removes the snapshots before a sequence number, and those that were not ended.
func (s *Store) removeSnapshots(ctx context.Context, bucket jetstream.ObjectStore, before uint64) error {
	sequences, unended, err := s.snapshotsOf(ctx, bucket)
	for _, n := range sequences {
		if n < before {
			err = errors.Join(err, bucket.Delete(ctx, objectName(s.opts.Frontend, n)))
		}
	}
	for _, name := range unended {
		err = errors.Join(err, bucket.Delete(ctx, name))
	}
	return err
}

// objectName returns the name of a snapshot. Its number has 20 digits, so that the order of names is that of
// numbers.
func objectName(frontend string, sequence uint64) string {
	return fmt.Sprintf("%s%020d", jetstore.SnapshotPrefix(frontend), sequence)
}
