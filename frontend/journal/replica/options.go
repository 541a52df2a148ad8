package replica

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// Options of a [Store]; a zero field means its default.
type Options struct {
	// Cluster and Frontend name the stream. Both are required.
	Cluster, Frontend string
	// ClusterID distinguishes the cluster from others of its name; "" is not compared.
	ClusterID string
	// JetStream is where the stream is.
	JetStream jetstream.JetStream
	// Replicas is the number of servers that keep the stream: 1, 3 or 5. Default 3.
	Replicas int
	// Dir is the folder of the copy. It belongs to this store alone.
	Dir string
	// FS is where the copy is; nil is the disk of this host.
	FS store.FS
	// MaxBytes bounds the stream; the servers reserve as much. Default 512 MiB.
	MaxBytes int64
	// SnapshotBytes and SnapshotMessages are after how much a snapshot is made. Defaults 64 MiB
	// and 100,000.
	SnapshotBytes    int64
	SnapshotMessages uint64
	// Who names this process to others, in words: "process 7 of host b".
	Who string
	Log *slog.Logger

	maxMessage int           // of tests; 0: what the server accepts, 1 MiB at most
	lazyFor    time.Duration // of tests
	timeout    time.Duration // of tests: of one call
}

// The defaults and bounds.
const (
	defaultReplicas         = 3
	defaultMaxBytes         = 512 << 20
	defaultSnapshotBytes    = 64 << 20
	defaultSnapshotMessages = 100_000
	maxMessageBytes         = 1 << 20
	// maxBatch bounds a batch. It is twice what a frontend's journal lets wait for one record.
	maxBatch = 256 << 20
	// lazyFor and lazyBytes bound what waits for the next durable batch.
	lazyFor   = 50 * time.Millisecond
	lazyBytes = 256 << 10
	// callTimeout bounds the first try of a call; later ones have up to maxTimeout.
	callTimeout = 300 * time.Millisecond
	maxTimeout  = 2 * time.Second
	// messageRoom is left of the size of a message for its subject and headers.
	messageRoom = 4 << 10
)

func (o Options) withDefaults() Options {
	if o.Replicas == 0 {
		o.Replicas = defaultReplicas
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = min(defaultSnapshotBytes, o.MaxBytes/4)
	}
	if o.SnapshotMessages == 0 {
		o.SnapshotMessages = defaultSnapshotMessages
	}
	if o.FS == nil {
		o.FS = store.HostFS()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.lazyFor == 0 {
		o.lazyFor = lazyFor
	}
	if o.timeout == 0 {
		o.timeout = callTimeout
	}
	return o
}
