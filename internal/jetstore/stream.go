package jetstore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Metadata of every stream.
const (
	clusterKey   = "pigeon_cluster"
	clusterIDKey = "pigeon_cluster_id"
)

// Prefixes of the streams behind buckets and object stores.
const (
	bucketPrefix = "KV_"
	objectPrefix = "OBJ_"
)

// StreamName returns a name for a stream, bucket or object store of the store's cluster.
func (s *Store) StreamName(parts ...string) string { return StreamName(s.opts.Cluster, parts...) }

// Stream returns the stream of the configuration's name, and makes it if there is none.
// Replicas are those of the store. A stream of another cluster, or with fewer replicas, is refused.
func (s *Store) Stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Replicas = s.opts.Replicas
	cfg.Metadata = s.metadata(cfg.Metadata)
	stream, err := s.js.CreateStream(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		stream, err = s.js.Stream(ctx, cfg.Name)
	}
	if err != nil {
		return nil, s.Explain(err, "making the stream "+cfg.Name)
	}
	return stream, s.verify(stream.CachedInfo().Config)
}

// ObjectStore is Stream for an object store.
func (s *Store) ObjectStore(ctx context.Context, cfg jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	cfg.Replicas = s.opts.Replicas
	cfg.Metadata = s.metadata(cfg.Metadata)
	_, err := s.js.CreateObjectStore(ctx, cfg)
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return nil, s.Explain(err, "making the object store "+cfg.Bucket)
	}
	stream, err := s.js.Stream(ctx, objectPrefix+cfg.Bucket)
	if err != nil {
		return nil, s.Explain(err, "opening the object store "+cfg.Bucket)
	}
	if err := s.verify(stream.CachedInfo().Config); err != nil {
		return nil, err
	}
	return s.js.ObjectStore(ctx, cfg.Bucket)
}

func (s *Store) metadata(given map[string]string) map[string]string {
	m := map[string]string{clusterKey: s.opts.Cluster, clusterIDKey: s.id}
	maps.Copy(m, given)
	return m
}

// verify refuses a stream that is another cluster's, or has too few replicas.
func (s *Store) verify(cfg jetstream.StreamConfig) error {
	switch id := cfg.Metadata[clusterIDKey]; {
	case id == "":
		return s.foreign(cfg.Name, "was not made by Pigeon", "rename or remove it, or give this cluster another name (cluster)")
	case id != s.id:
		return s.foreign(cfg.Name, fmt.Sprintf("belongs to another cluster of the name %s, with the id %s; this one has %s", s.opts.Cluster, id, s.id),
			"give one of the two clusters another name (cluster), or correct cluster_id or nats")
	case cfg.Replicas < s.opts.Replicas:
		return s.foreign(cfg.Name, fmt.Sprintf("has %d replicas, and %d are configured", cfg.Replicas, s.opts.Replicas),
			fmt.Sprintf("run: nats stream edit %s --replicas %d", cfg.Name, s.opts.Replicas))
	}
	return nil
}

// identify finds out the id of the cluster, which the stream of its leaderships carries, or gives
// it one.
func (s *Store) identify(ctx context.Context) error {
	s.id = s.opts.ID
	if s.id == "" {
		s.id = ulid.Make().String()
		stream, err := s.js.Stream(ctx, bucketPrefix+s.leadershipBucket())
		switch {
		case err == nil:
			s.adopt(stream)
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return err
		}
	}
	stream, err := s.Stream(ctx, s.leadershipStream())
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Problem == api.Invalid && s.opts.ID == "" && stream != nil && s.adopt(stream) {
		err = s.verify(stream.CachedInfo().Config) // another daemon was faster with a new id
	}
	return err
}

// adopt takes the id that a stream carries, if it carries one.
func (s *Store) adopt(stream jetstream.Stream) bool {
	id := stream.CachedInfo().Config.Metadata[clusterIDKey]
	if id == "" {
		return false
	}
	s.id = id
	return true
}
