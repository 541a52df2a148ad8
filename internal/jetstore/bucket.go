package jetstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bucket returns a bucket of one value per key, and makes it if there is none. A value lapses
// lifetime after it was written; a bucket that was made with a shorter one gets this one. At
// maxBytes writes are refused. Reads are answered by the leader of the stream, which has every
// acknowledged write.
func (s *Store) Bucket(ctx context.Context, name, description string, lifetime time.Duration, maxBytes int64) (jetstream.KeyValue, error) {
	bucket := s.StreamName(name)
	stream, err := s.Stream(ctx, jetstream.StreamConfig{
		Name: bucketPrefix + bucket, Subjects: []string{"$KV." + bucket + ".>"},
		Description: description, MaxMsgsPerSubject: 1, MaxMsgSize: 1 << 12, MaxAge: lifetime, MaxBytes: maxBytes,
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowDirect: false, Storage: jetstream.FileStorage,
	})
	if err != nil {
		return nil, err
	}
	if cfg := stream.CachedInfo().Config; cfg.MaxAge < lifetime {
		cfg.MaxAge = lifetime
		if _, err := s.js.UpdateStream(ctx, cfg); err != nil {
			return nil, s.Explain(err, "lengthening the lifetime of the bucket "+bucket)
		}
	}
	kv, err := s.js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, s.Explain(err, "opening the bucket "+bucket)
	}
	return kv, nil
}
