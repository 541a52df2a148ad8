package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

func (s *Store) leadershipBucket() string { return s.StreamName("leadership") }

// leadershipStream is what a bucket of one value per key is kept in. The library's own lets
// any replica answer reads, which may be behind; here the leader of the stream answers.
func (s *Store) leadershipStream() jetstream.StreamConfig {
	bucket := s.leadershipBucket()
	return jetstream.StreamConfig{
		Name: bucketPrefix + bucket, Subjects: []string{"$KV." + bucket + ".>"},
		Description: "who leads what in Pigeon's cluster " + s.opts.Cluster, MaxMsgsPerSubject: 1, MaxMsgSize: 1 << 16,
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowDirect: false, Storage: jetstream.FileStorage,
	}
}

// leaderships is the bucket as candidates see it.
type leaderships struct {
	kv    jetstream.KeyValue
	store *Store
}

// Leadership returns the store of the cluster's leaderships.
func (s *Store) Leadership(ctx context.Context) (leadership.Store, error) {
	kv, err := s.js.KeyValue(ctx, s.leadershipBucket())
	if err != nil {
		return nil, s.Explain(err, "opening the bucket "+s.leadershipBucket())
	}
	return leaderships{kv, s}, nil
}

func key(name string) string { return notice.Token(name) }

// Get implements [leadership.Store].
func (l leaderships) Get(ctx context.Context, name string) (leadership.Record, uint64, bool, error) {
	e, err := l.kv.Get(ctx, key(name))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return leadership.Record{}, 0, false, nil
	}
	if err != nil {
		return leadership.Record{}, 0, false, err
	}
	r, err := record(e)
	return r, e.Revision(), err == nil, err
}

func record(e jetstream.KeyValueEntry) (r leadership.Record, err error) {
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		return r, fmt.Errorf("the record %s of the bucket %s: %w", e.Key(), e.Bucket(), err)
	}
	return r, nil
}

// Put implements [leadership.Store].
func (l leaderships) Put(ctx context.Context, name string, r leadership.Record, after uint64) (revision uint64, err error) {
	value, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	if after == 0 {
		revision, err = l.kv.Create(ctx, key(name), value)
	} else {
		revision, err = l.kv.Update(ctx, key(name), value, after)
	}
	return revision, conflict(err)
}

// Delete implements [leadership.Store].
func (l leaderships) Delete(ctx context.Context, name string, after uint64) error {
	if after == 0 {
		return leadership.ErrConflict // for the library 0 is any revision
	}
	return conflict(l.kv.Delete(ctx, key(name), jetstream.LastRevision(after)))
}

// conflict translates the refusal of a revision.
func conflict(err error) error {
	if IsConflict(err) {
		return fmt.Errorf("%w: %w", leadership.ErrConflict, err)
	}
	return err
}

// IsConflict reports whether JetStream has refused a write because the newest revision is
// another than the one that the write named.
func IsConflict(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) ||
		errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// errWatchEnded is returned when the server ends a watch.
var errWatchEnded = errors.New("the watch has ended")

// Watch implements [leadership.Store].
func (l leaderships) Watch(ctx context.Context, name string, change func(leadership.Record, uint64, bool)) error {
	w, err := l.kv.Watch(ctx, key(name))
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the server ends it by itself when the connection is gone
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-w.Updates():
			switch {
			case !open && ctx.Err() != nil: // the client library closes it then
				return ctx.Err()
			case !open:
				return errWatchEnded
			case e == nil: // all initial values have been delivered
			case e.Operation() != jetstream.KeyValuePut:
				change(leadership.Record{}, e.Revision(), false)
			default:
				if r, err := record(e); err == nil {
					change(r, e.Revision(), true)
				}
			}
		}
	}
}
