package replica

import "github.com/pigeon-sched/pigeon/internal/jetstore"

// StreamName returns the name of the stream of a frontend's journal.
func StreamName(cluster, frontend string) string { return jetstore.JournalStream(cluster, frontend) }

// BucketName returns the name of the object store with the snapshots of a cluster.
func BucketName(cluster string) string { return jetstore.SnapshotStore(cluster) }

// subjectName returns the subject of a stream.
func subjectName(cluster, frontend string) string { return jetstore.JournalSubject(cluster, frontend) }

// objectName returns the name of the snapshot of a frontend at a sequence number of its stream.
func objectName(frontend string, sequence uint64) string {
	return objectPrefix(frontend) + padded(sequence)
}

func objectPrefix(frontend string) string { return jetstore.SnapshotPrefix(frontend) }
