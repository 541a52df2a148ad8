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
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// A snapshot is an object: a line of JSON that describes it, then each key and value with their
// lengths (that of the key plus one), then a zero and the number of keys. The object store adds a
// digest of it all.
type snapshotHeader struct {
	Format   int    `json:"pigeon_snapshot"`
	Cluster  string `json:"cluster"`
	Frontend string `json:"frontend"`
	Stream   string `json:"stream"` // the id of the stream
	Sequence uint64 `json:"sequence"`
	Chain    string `json:"chain"`
	Token    uint64 `json:"token"`
}

const (
	snapshotFormat = 1
	chunkBytes     = 512 << 10
	// restoreBytes is how much of a snapshot is written to a copy at once.
	restoreBytes = 1 << 20
	// snapshotPause is between two snapshots that fail.
	snapshotPause = 2 * time.Second
	// maxEntry bounds a key or value of a snapshot.
	maxEntry = 1 << 30
)

// snapshotDue reports whether enough was written since the last snapshot.
func (s *Store) snapshotDue() bool {
	after := max(s.opts.SnapshotBytes, s.snapshotSize.Load()/2)
	if s.maxBytes > 0 {
		after = min(after, s.maxBytes/4)
	}
	return s.sinceSnapshot.Load() >= uint64(after) || s.messages.Load() >= s.opts.SnapshotMessages //nolint:gosec // positive
}

// trySnapshot requests a snapshot if this process leads.
func (s *Store) trySnapshot() {
	if !s.leads {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// makeRoom has a snapshot made when the stream is full. A process that is about to lead makes it at
// once, because without room it cannot write its opening; the stream may have become full under a
// former process that could make none. That is not left to the goroutine of the snapshots: the copy
// may still be made again from the stream, by the goroutine that calls this. It needs the lock.
func (s *Store) makeRoom(ctx context.Context) {
	if s.leads {
		s.trySnapshot()
		return
	}
	s.snapshotOrPause(ctx)
}

// snapshots makes snapshots when it is woken, until the context ends.
func (s *Store) snapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		if !s.snapshotDue() && s.full.Load() == nil {
			continue
		}
		if !s.snapshotOrPause(ctx) {
			return
		}
	}
}

// snapshotOrPause makes a snapshot. When it fails, that is logged, and a pause follows. It reports
// whether the context still runs.
func (s *Store) snapshotOrPause(ctx context.Context) bool {
	err := s.snapshot(ctx)
	switch {
	case err == nil:
		return true
	case s.givesUp(err), ended(ctx):
		return false
	}
	s.opts.Log.Warn("a snapshot of the journal failed; its stream grows until one is made, and is tried again", "stream", s.name, "error", err)
	s.failedSnapshots.Add(1)
	return delay.For(ctx, snapshotPause)
}

// snapshot puts the content of the copy into the object store, purges the stream up to there, and
// removes earlier snapshots. It may be late, at the same time as the next writer's: what it
// writes is what the stream amounts to up to there, for any reader.
func (s *Store) snapshot(ctx context.Context) error {
	bucket, err := s.openBucket(ctx)
	if err != nil {
		return err
	}
	v, err := s.disk.Get(positionKey)
	if err != nil {
		return err
	}
	at, _, ok := decodePosition(v)
	switch {
	case !ok || at.sequence == 0:
		return nil
	case at.sequence == s.snapshotAt.Load(): // the process that made it may have ended before it purged
		return s.purge(ctx, at.sequence)
	}
	// The scan may see a later state; the header states which.
	r, w := io.Pipe()
	var header snapshotHeader
	var reading error // the copy
	done := make(chan struct{})
	pending := fmt.Sprintf("%snew-%x", jetstore.SnapshotPrefix(s.opts.Frontend), s.writer)
	go func() {
		defer close(done)
		header, reading = s.writeSnapshot(w)
		w.CloseWithError(reading)
	}()
	info, err := bucket.Put(ctx, jetstream.ObjectMeta{Name: pending, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}}, r)
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // ends the writer when the object store did not read to the end
	<-done
	if err != nil {
		return errors.Join(err, reading)
	}
	if err := bucket.UpdateMeta(ctx, pending, jetstream.ObjectMeta{Name: objectName(s.opts.Frontend, header.Sequence)}); err != nil && !errors.Is(err, jetstream.ErrObjectAlreadyExists) {
		return err
	}
	s.snapshotSize.Store(int64(info.Size)) //nolint:gosec // a size
	if err := s.purge(ctx, header.Sequence); err != nil {
		return err
	}
	s.madeSnapshots.Add(1)
	return s.removeSnapshots(ctx, bucket, header.Sequence)
}

// purge removes the messages that a snapshot holds from the stream, and counts what is left.
func (s *Store) purge(ctx context.Context, upTo uint64) error {
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSequence(upTo+1)); err != nil {
		return err
	}
	s.snapshotAt.Store(upTo)
	state, err := s.info(ctx)
	if err != nil {
		return err
	}
	s.bytes.Store(state.State.Bytes)
	s.sinceSnapshot.Store(state.State.Bytes)
	s.messages.Store(state.State.Msgs)
	return nil
}

// writeSnapshot writes the content of the copy as of now.
func (s *Store) writeSnapshot(w io.Writer) (h snapshotHeader, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	var count uint64
	var line []byte
	err = s.disk.Scan(nil, nil, func(key, value []byte) error {
		if count == 0 { // the position is the first key
			at, id, ok := decodePosition(value)
			if string(key) != string(positionKey) || !ok || id != s.id {
				return errors.New("the copy of the journal does not begin with its position")
			}
			h = snapshotHeader{snapshotFormat, s.opts.Cluster, s.opts.Frontend, s.id, at.sequence, strconv.FormatUint(at.chain, 16), at.token}
			if err := json.NewEncoder(out).Encode(h); err != nil {
				return err
			}
		}
		count++
		line = binary.AppendUvarint(line[:0], uint64(len(key))+1)
		line = append(line, key...)
		line = binary.AppendUvarint(line, uint64(len(value)))
		if _, err := out.Write(line); err != nil {
			return err
		}
		_, err := out.Write(value)
		return err
	})
	if err == nil {
		line = binary.AppendUvarint(append(line[:0], 0), count)
		_, err = out.Write(line)
	}
	return h, errors.Join(err, out.Flush())
}
