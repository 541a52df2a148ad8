package replica

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// restore makes the copy again from the newest snapshot that the stream continues.
func (s *Store) restore(ctx context.Context, first, last uint64) error {
	if err := s.emptyCopy(s.behind(first)); err != nil {
		return err
	}
	s.tail, s.compared = tail{}, 0
	if first <= 1 {
		return nil
	}
	bucket, sequences, err := s.listSnapshots(ctx)
	if err != nil {
		return err
	}
	var problems error
	for _, n := range sequences {
		if n+1 < first || n > last {
			continue
		}
		at, err := s.readSnapshot(ctx, bucket, n)
		if err == nil {
			s.tail.end = at
			s.snapshotAt.Store(n)
			return nil
		}
		if s.broke.Load() != nil {
			return err
		}
		if ended(ctx) || silent(err) {
			return s.unreachable("reading a snapshot of it", err)
		}
		problems = errors.Join(problems, err)
		if err := s.emptyCopy(fmt.Sprintf("the snapshot at message %d could not be read: %v", n, err)); err != nil {
			return err
		}
	}
	info, err := s.info(ctx)
	if err != nil {
		return s.unreachable("reading it", err)
	}
	if info.State.FirstSeq > first { // the leader has made another snapshot, and removed those that were listed
		return &gapError{first, last}
	}
	what := fmt.Sprintf("it begins at message %d, and no snapshot in %s reaches up to there", first, jetstore.SnapshotStore(s.opts.Cluster))
	if problems != nil {
		what += ": " + problems.Error()
	}
	return s.refused(api.Internal, what, "reading the journal back", "restore the object store from a backup of the NATS servers (nats stream restore)")
}

// listSnapshots returns the object store and the snapshots of this frontend, the newest first.
func (s *Store) listSnapshots(ctx context.Context) (bucket jetstream.ObjectStore, sequences []uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	if bucket, err = s.openBucket(ctx); err == nil {
		sequences, _, err = s.snapshotsOf(ctx, bucket)
	}
	if err != nil && (ended(ctx) || silent(err)) {
		err = s.unreachable("listing its snapshots", err)
	}
	return bucket, sequences, err
}

func (s *Store) behind(first uint64) string {
	if s.applied.sequence == 0 {
		return ""
	}
	return fmt.Sprintf("it ends at message %d of the stream, which begins at %d", s.applied.sequence, first)
}

// readSnapshot fills the empty copy from a snapshot.
func (s *Store) readSnapshot(ctx context.Context, bucket jetstream.ObjectStore, sequence uint64) (at position, err error) {
	reading := newAdvancing(ctx, replayPatience)
	defer reading.stop()
	object, err := bucket.Get(reading, objectName(s.opts.Frontend, sequence))
	if err != nil {
		return at, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, context.Cause(reading)) // the object store may report that its data ended
		}
		err = errors.Join(err, object.Close())
	}()
	info, err := object.Info()
	if err != nil {
		return at, err
	}
	in := bufio.NewReaderSize(reading.reader(object), 64<<10)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return at, err
	}
	var h snapshotHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return at, err
	}
	chain, err := strconv.ParseUint(h.Chain, 16, 64)
	switch {
	case err != nil:
		return at, err
	case h.Format != snapshotFormat || h.Cluster != s.opts.Cluster || h.Frontend != s.opts.Frontend || h.Stream != s.id || h.Sequence != sequence:
		return at, fmt.Errorf("it is the snapshot of frontend %q of cluster %q at message %d of stream %s", h.Frontend, h.Cluster, h.Sequence, h.Stream)
	}
	if err := s.readEntries(in); err != nil {
		return at, err
	}
	at = position{sequence, chain, h.Token}
	s.snapshotSize.Store(int64(info.Size)) //nolint:gosec // a size
	return at, s.apply(nil, at)            // last: a copy without a position is thrown away
}

func (s *Store) readEntries(in *bufio.Reader) error {
	var count uint64
	var b store.Batch
	size := 0
	put := func() error {
		err := s.toCopy(&b)
		b.Reset()
		size = 0
		return err
	}
	for {
		key, end, err := readEntry(in, 1)
		if err != nil {
			return err
		}
		if end {
			break
		}
		value, _, err := readEntry(in, 0)
		if err != nil {
			return err
		}
		count++
		if string(key) == string(positionKey) {
			continue
		}
		b.Set(key, value)
		if size += len(key) + len(value); size >= restoreBytes {
			if err := put(); err != nil {
				return err
			}
		}
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	if n != count {
		return fmt.Errorf("it has %d keys, and says that it has %d", count, n)
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // the digest is compared at the end
		return err
	}
	return put()
}

// readEntry reads a length, from which less is subtracted, and that many bytes. end reports
// whether the length was below less.
func readEntry(in *bufio.Reader, less uint64) (v []byte, end bool, err error) {
	n, err := binary.ReadUvarint(in)
	switch {
	case err != nil:
		return nil, false, err
	case n < less:
		return nil, true, nil
	case n > maxEntry:
		return nil, false, fmt.Errorf("it has an entry of %d bytes", n)
	}
	v = make([]byte, n-less)
	_, err = io.ReadFull(in, v)
	return v, false, err
}
