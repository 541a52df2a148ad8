package replica

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A snapshot is an object: a line of JSON that says of what, then each key and value with their
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

// trySnapshot has a snapshot made, of who leads.
func (s *Store) trySnapshot() {
	if !s.leads {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
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
		if err := s.snapshot(ctx); err != nil {
			if ended(ctx) {
				return
			}
			s.opts.Log.Warn("a snapshot of the journal failed; its stream grows until one is made, and is tried again", "stream", s.name, "error", err)
			s.failedSnapshots.Add(1)
			if !pause(ctx, snapshotPause) {
				return
			}
		}
	}
}

// snapshot puts the content of the copy into the object store, purges the stream up to there, and
// removes earlier snapshots. It may be late, beside the next writer's: what it writes is what the
// stream amounts to up to there, whoever reads it.
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
	if !ok || at.sequence == s.snapshotAt.Load() {
		return nil
	}
	// The scan sees a later state perhaps; it says which.
	r, w := io.Pipe()
	var header snapshotHeader
	done := make(chan struct{})
	pending := fmt.Sprintf("%snew-%x", objectPrefix(s.opts.Frontend), s.writer)
	go func() {
		defer close(done)
		var err error
		header, err = s.writeSnapshot(w)
		w.CloseWithError(err)
	}()
	info, err := bucket.Put(ctx, jetstream.ObjectMeta{Name: pending, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}}, r)
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // ends the writer when the object store did not read to the end
	<-done
	if err != nil {
		return err
	}
	if err := bucket.UpdateMeta(ctx, pending, jetstream.ObjectMeta{Name: objectName(s.opts.Frontend, header.Sequence)}); err != nil && !errors.Is(err, jetstream.ErrObjectAlreadyExists) {
		return err
	}
	s.snapshotSize.Store(int64(info.Size)) //nolint:gosec // a size
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSequence(header.Sequence+1)); err != nil {
		return err
	}
	s.snapshotAt.Store(header.Sequence)
	state, err := s.info(ctx)
	if err != nil {
		return err
	}
	s.bytes.Store(state.State.Bytes)
	s.sinceSnapshot.Store(state.State.Bytes)
	s.messages.Store(state.State.Msgs)
	s.madeSnapshots.Add(1)
	return s.removeSnapshots(ctx, bucket, header.Sequence)
}

// openBucket finds or makes the object store of the cluster.
func (s *Store) openBucket(ctx context.Context) (jetstream.ObjectStore, error) {
	if s.bucket != nil {
		return s.bucket, nil
	}
	name := BucketName(s.opts.Cluster)
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
	const tried = "opening it"
	switch meta := status.Metadata(); {
	case meta[metaCluster] != s.opts.Cluster:
		return nil, &api.Error{Problem: api.Invalid, Subject: "object store " + name, What: fmt.Sprintf("it belongs to cluster %q, this is cluster %q", meta[metaCluster], s.opts.Cluster),
			Tried: tried, Next: "remove it, or give the cluster another name"}
	case s.opts.ClusterID != "" && meta[metaIdentity] != s.opts.ClusterID:
		return nil, &api.Error{Problem: api.Invalid, Subject: "object store " + name, What: fmt.Sprintf("it belongs to another cluster of that name, with the id %q; this one has %q", meta[metaIdentity], s.opts.ClusterID),
			Tried: tried, Next: "give one of the two clusters another name (cluster), or correct cluster_id or nats"}
	case status.Replicas() < s.opts.Replicas:
		return nil, &api.Error{Problem: api.Invalid, Subject: "object store " + name, What: fmt.Sprintf("it has %d replicas, %d are configured (nats_replicas)", status.Replicas(), s.opts.Replicas),
			Tried: tried, Next: fmt.Sprintf("give it %d replicas (nats stream edit OBJ_%s --replicas %d)", s.opts.Replicas, name, s.opts.Replicas)}
	case status.Storage() != jetstream.FileStorage:
		return nil, &api.Error{Problem: api.Invalid, Subject: "object store " + name, What: "it is kept in memory", Tried: tried, Next: "remove it: it is made again in files"}
	}
	if s.opts.Check != nil {
		if err := s.opts.Check(ctx, "OBJ_"+name); err != nil {
			return nil, err
		}
	}
	s.bucket = b
	return b, nil
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

// snapshotsOf returns the sequence numbers of the snapshots of this frontend, the newest first, and
// the names of those that were not ended.
func (s *Store) snapshotsOf(ctx context.Context, bucket jetstream.ObjectStore) (sequences []uint64, unended []string, err error) {
	list, err := bucket.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil, nil
	}
	prefix := objectPrefix(s.opts.Frontend)
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

// restore makes the copy again from the newest snapshot that the stream continues.
func (s *Store) restore(ctx context.Context, first, last uint64) error {
	if err := s.emptyCopy(s.behind(first)); err != nil {
		return err
	}
	s.tail, s.compared = tail{}, 0
	if first <= 1 {
		return nil
	}
	bucket, err := s.openBucket(ctx)
	if err != nil {
		return err
	}
	sequences, _, err := s.snapshotsOf(ctx, bucket)
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
		if ended(ctx) {
			return err
		}
		problems = errors.Join(problems, err)
		if err := s.emptyCopy(fmt.Sprintf("the snapshot at message %d could not be read: %v", n, err)); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("it begins at message %d, and no snapshot in %s reaches up to there", first, BucketName(s.opts.Cluster))
	if problems != nil {
		what += ": " + problems.Error()
	}
	return s.refused(api.Internal, what, "reading the journal back", "restore the object store from a backup of the NATS servers (nats stream restore)")
}

func (s *Store) behind(first uint64) string {
	if s.applied.sequence == 0 {
		return ""
	}
	return fmt.Sprintf("it ends at message %d of the stream, which begins at %d", s.applied.sequence, first)
}

// readSnapshot fills the empty copy from a snapshot.
func (s *Store) readSnapshot(ctx context.Context, bucket jetstream.ObjectStore, sequence uint64) (at position, err error) {
	object, err := bucket.Get(ctx, objectName(s.opts.Frontend, sequence))
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	info, err := object.Info()
	if err != nil {
		return at, err
	}
	in := bufio.NewReaderSize(object, 64<<10)
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
		err := s.disk.Append(&b, false)
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

// readEntry reads a length, from which less is subtracted, and as many bytes. end reports whether
// the length was below less.
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

// padded returns a number in 20 digits, so that the order of names is that of numbers.
func padded(n uint64) string { return fmt.Sprintf("%020d", n) }
