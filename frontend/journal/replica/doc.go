// Package replica keeps the store of a frontend's journal on several hosts: each batch is a
// message of a JetStream stream, durable when the stream's replicas have it. A standby on another
// host reads the stream and continues.
//
//	Open ──▶ Follow (a standby, repeated) ──▶ Lead ──▶ Append, Get, Scan ──▶ Close
//	                                            │          │
//	                                            └──────────┴──▶ fenced: another process leads
//
// # The stream and the copy
//
// The stream (pigeon-CLUSTER-journal-FRONTEND) is the truth. In addition every process has a copy
// of what the stream amounts to, keys and values in a store of its own that is never synced, with
// the sequence number up to which it was applied in the same batch. A copy that is missing,
// damaged or of another stream is discarded and made again: from the newest snapshot in the
// object store of the cluster (pigeon-CLUSTER-snapshots), and the messages after it. A copy is
// never ahead of its stream, because a batch is applied after the stream has acknowledged it; so
// a stream that ends before its copy has lost what it acknowledged, and is refused. A process that
// cannot write its copy, as on a full disk, ends with that reason, whether it leads or follows.
//
// # One writer
//
// Every message states the sequence number of the message before it, and the stream refuses it
// when that is not its last (expected last sequence). A process that takes over reads up to the
// end and writes an opening there. From then on the former writer's messages name an earlier one
// and are refused, whatever that process believes: it is fenced.
//
// # A lost answer
//
// A message whose answer does not come may be in the stream or not. The writer reads the message
// at the place where it would be. If it is the writer's own, it counts; if it is another's, the
// writer is fenced; if there is none, the same message is sent again, with the same expected last
// sequence, so it cannot be stored twice. It repeats this until it knows.
//
// # A large batch
//
// A batch above the size of a message travels in parts, each the next message. At replay the
// parts of a batch count together or not at all: those of a writer that died between them are
// followed by the opening of the next, and dropped.
//
// # Bounds
//
//   - The stream holds at most Options.MaxBytes (default 512 MiB, which the servers reserve). It is full before that for new
//     jobs (Space). When a message does not fit, Append waits until there is room.
//   - A snapshot is made after 64 MiB or 100,000 messages since the last, or, when the snapshots
//     are larger than twice that, after half their size, at most a quarter of MaxBytes; then the
//     stream is purged up to it. So replay reads a snapshot and at most about that much.
//   - A batch has at most 256 MiB; its parts have 1 MiB at most, or what the server accepts.
//   - What may be acknowledged before it is durable waits at most 50 ms and 256 KiB.
package replica
