package replica

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The metadata of streams and buckets.
const (
	metaFormat   = "pigeon_format"
	metaCluster  = "pigeon_cluster"
	metaFrontend = "pigeon_frontend"
	metaIdentity = "pigeon_cluster_id"
	metaID       = "pigeon_id" // drawn when the stream was made
)

const streamFormat = "1"

// config returns the configuration of a new stream.
func (s *Store) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: s.name, Description: fmt.Sprintf("journal of frontend %q of the Pigeon cluster %q", s.opts.Frontend, s.opts.Cluster),
		Subjects: []string{s.subject}, Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: s.opts.Replicas,
		MaxMsgs: -1, MaxConsumers: -1, MaxMsgSize: -1, MaxBytes: s.opts.MaxBytes, Discard: jetstream.DiscardNew,
		DenyDelete: true, Duplicates: time.Second,
		Metadata: map[string]string{metaFormat: streamFormat, metaCluster: s.opts.Cluster, metaFrontend: s.opts.Frontend, metaIdentity: s.opts.ClusterID, metaID: s.streamID()},
	}
}

// streamID returns a new id for the stream of a frontend.
func (s *Store) streamID() string { return s.idPrefix() + rand.Text() }

func (s *Store) idPrefix() string { return fmt.Sprintf("%q/%q/", s.opts.Cluster, s.opts.Frontend) }

// openStream finds or makes the stream, and checks that it can be trusted. of is the id of the
// stream to which the copy belongs, "" for none.
func (s *Store) openStream(ctx context.Context, of string) error {
	const tried = "opening it; nothing was changed"
	err := s.patiently(ctx, func(ctx context.Context) (err error) {
		s.stream, err = s.js.Stream(ctx, s.name)
		return err
	})
	if isCode(err, jetstream.JSErrCodeStreamNotFound) {
		if strings.HasPrefix(of, s.idPrefix()) {
			return s.lost(fmt.Sprintf("it is missing, and message %d of it had been acknowledged", s.applied.sequence))
		}
		ctx, cancel := context.WithTimeout(ctx, replayPatience)
		defer cancel()
		s.stream, err = s.js.CreateStream(ctx, s.config())
		if isCode(err, jetstream.JSErrCodeStreamNameInUse) { // another process was faster
			s.stream, err = s.js.Stream(ctx, s.name)
		}
		if classify(err) == full || isCode(err, codeNoPeers) {
			return s.refused(api.Internal, err.Error(), fmt.Sprintf("making it with %d replicas and %d bytes", s.opts.Replicas, s.opts.MaxBytes),
				"give the NATS servers more room for JetStream, or run as many of them as nats_replicas says")
		}
	}
	if err != nil {
		return s.unreachable(tried, err)
	}
	info := s.stream.CachedInfo()
	if err := s.checkConfig(&info.Config); err != nil {
		return err
	}
	s.id = info.Config.Metadata[metaID]
	s.maxBytes = info.Config.MaxBytes
	return nil
}

// checkConfig returns why a stream is not the journal of this frontend, or does not keep what it
// acknowledges.
func (s *Store) checkConfig(c *jetstream.StreamConfig) error {
	const tried = "opening it; nothing was changed"
	own := func(key string) bool { return c.Metadata[key] != "" }
	switch {
	case !own(metaFormat) || !own(metaID):
		return s.refused(api.Invalid, "it was not made by Pigeon", tried, "remove that stream, or give the cluster another name")
	case c.Metadata[metaCluster] != s.opts.Cluster || c.Metadata[metaFrontend] != s.opts.Frontend:
		return s.refused(api.Invalid, fmt.Sprintf("it belongs to frontend %q of cluster %q, this is frontend %q of cluster %q", c.Metadata[metaFrontend], c.Metadata[metaCluster], s.opts.Frontend, s.opts.Cluster),
			tried, "give the cluster or the frontend another name")
	case s.opts.ClusterID != "" && c.Metadata[metaIdentity] != s.opts.ClusterID:
		return s.refused(api.Invalid, fmt.Sprintf("it belongs to another cluster of the name %s, with the id %q; this one has %q", s.opts.Cluster, c.Metadata[metaIdentity], s.opts.ClusterID),
			tried, "give one of the two clusters another name (cluster), or correct cluster_id or nats")
	case c.Metadata[metaFormat] != streamFormat:
		return s.refused(api.Internal, fmt.Sprintf("it has format %s, this program reads format %s", c.Metadata[metaFormat], streamFormat), tried, "use the newer program that wrote it")
	case c.Replicas < s.opts.Replicas:
		return s.refused(api.Invalid, fmt.Sprintf("it has %d replicas, %d are configured (nats_replicas)", c.Replicas, s.opts.Replicas),
			tried, fmt.Sprintf("give it %d replicas (nats stream edit %s --replicas %d), or configure %d", s.opts.Replicas, s.name, s.opts.Replicas, c.Replicas))
	}
	for _, f := range []struct {
		wrong bool
		what  string
	}{
		{c.Storage != jetstream.FileStorage, "it is kept in memory"},
		{c.PersistMode != jetstream.DefaultPersistMode, "its servers acknowledge before they have written (persist_mode)"},
		{c.Retention != jetstream.LimitsPolicy || c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxMsgsPerSubject > 0, "it forgets messages by itself (retention, max_age, max_msgs)"},
		{c.MaxBytes > 0 && c.Discard != jetstream.DiscardNew, "it forgets messages when it is full (discard)"},
		{c.Mirror != nil || len(c.Sources) > 0 || c.SubjectTransform != nil, "it has messages of other streams"},
		{len(c.Subjects) != 1 || c.Subjects[0] != s.subject, "it has other subjects"},
	} {
		if f.wrong {
			return s.refused(api.Invalid, f.what, tried, "correct the configuration of the stream")
		}
	}
	return nil
}
