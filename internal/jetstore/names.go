package jetstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// StreamName returns a name for a stream, bucket or object store of a cluster; no two lists of
// parts have the same.
func StreamName(cluster string, parts ...string) string {
	names := []string{"pigeon", plain(cluster)}
	for _, p := range parts {
		names = append(names, plain(p))
	}
	return strings.Join(names, "-")
}

// plain makes a text one of letters and digits; others become _ and two hexadecimal digits.
func plain(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02X", c)
		}
	}
	return b.String()
}

// JournalStream returns the name of the stream of a frontend's journal.
func JournalStream(cluster, frontend string) string {
	return "pigeon-" + short(cluster) + "-journal-" + short(frontend)
}

// SnapshotStore returns the name of the object store with the snapshots of a cluster's journals.
func SnapshotStore(cluster string) string { return "pigeon-" + short(cluster) + "-snapshots" }

// FileStore returns the name of the object store with the staged files of a frontend.
func FileStore(cluster, frontend string) string {
	return "pigeon-" + short(cluster) + "-files-" + short(frontend)
}

// JournalSubject returns the subject of the stream of a frontend's journal.
func JournalSubject(cluster, frontend string) string {
	return "pigeon-journal." + short(cluster) + "." + short(frontend)
}

// SnapshotPrefix begins the names of a frontend's snapshots.
func SnapshotPrefix(frontend string) string { return short(frontend) + "/" }

// maxShort bounds what short returns.
const maxShort = 64

// short is plain for names of any length: one that is too long becomes "_h" and a hash. Two names
// whose streams would still be the same have different metadata, and the second is refused.
func short(name string) string {
	text := plain(name)
	if len(text) > maxShort {
		sum := sha256.Sum256([]byte(name))
		return "_h" + hex.EncodeToString(sum[:16])
	}
	return text
}
