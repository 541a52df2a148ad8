package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// StreamName returns the name of the stream of a frontend's journal.
func StreamName(cluster, frontend string) string {
	return "pigeon-" + token(cluster) + "-journal-" + token(frontend)
}

// BucketName returns the name of the object store with the snapshots of a cluster.
func BucketName(cluster string) string { return "pigeon-" + token(cluster) + "-snapshots" }

// subjectName returns the subject of a stream.
func subjectName(cluster, frontend string) string {
	return "pigeon-journal." + token(cluster) + "." + token(frontend)
}

// objectName returns the name of the snapshot of a frontend at a sequence number of its stream.
func objectName(frontend string, sequence uint64) string {
	return objectPrefix(frontend) + padded(sequence)
}

func objectPrefix(frontend string) string { return token(frontend) + "/" }

// maxToken bounds a token.
const maxToken = 64

// token makes a name a part of the names of streams, buckets and subjects: letters and digits
// stay, any other byte becomes '_' and two hexadecimal digits, and what is too long becomes
// "_h" and a hash. Two names whose streams would still be the same have different metadata, and
// the second is refused.
func token(name string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			b.WriteByte('_')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	if b.Len() > maxToken {
		sum := sha256.Sum256([]byte(name))
		return "_h" + hex.EncodeToString(sum[:16])
	}
	return b.String()
}
