package journal

import (
	"encoding/binary"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The layout of the store. All numbers in keys are big-endian, so that the
// store's order is the order of acceptance and of time.
//
//	j seq 0          the submission of an unfinished job
//	j seq 1 n        the n-th bundle of records about it
//	e job            what is kept of an ended job
//	x at job         the ended jobs in the order of their end, for expiry
//	x at job task    where a task of such a job was stopped, if it was cancelled
//	a application    where a registered application listens
//	s slot           the number of a batch, see sequence.go
//	m name           the incarnation, the scope of job ids and the key of launch secrets
//
// seq is the number of a job's acceptance: 24 bits of incarnation, 40 bits of
// count within it. It is never used twice, and none has to be looked for when the
// journal opens.
const (
	prefixJob    = 'j'
	prefixEnded  = 'e'
	prefixExpiry = 'x'
	prefixApp    = 'a'
	prefixRing   = 's'
	prefixMeta   = 'm'

	countBits = 40
	// maxIncarnation is how often a journal can be opened.
	maxIncarnation = 1<<(64-countBits) - 1

	jobKeyLen    = 10
	bundleKeyLen = 14
	expiryKeyLen = 25 // of a job
	ringKeyLen   = 5
)

func jobKey(b []byte, seq uint64) []byte {
	return append(binary.BigEndian.AppendUint64(append(b, prefixJob), seq), 0)
}

func bundleKey(b []byte, seq uint64, n uint32) []byte {
	b = append(binary.BigEndian.AppendUint64(append(b, prefixJob), seq), 1)
	return binary.BigEndian.AppendUint32(b, n)
}

func endedKey(b []byte, id sched.JobID) []byte { return appendJobID(append(b, prefixEnded), id) }

// expiryKey orders instants before 1970 as 1970; no job ended then.
func expiryKey(b []byte, at int64, id sched.JobID) []byte {
	return appendJobID(binary.BigEndian.AppendUint64(append(b, prefixExpiry), uint64(max(at, 0))), id)
}

// stoppedKey follows the expiryKey of its job, so that it is removed after the job.
func stoppedKey(b []byte, at int64, id sched.JobID, task int32) []byte {
	return binary.BigEndian.AppendUint32(expiryKey(b, at, id), uint32(task)) //nolint:gosec // not negative
}

// parseExpiry is the inverse of expiryKey. It is not ok for other keys, as those of stopped tasks.
func parseExpiry(k []byte) (at int64, id sched.JobID, ok bool) {
	if len(k) != expiryKeyLen {
		return 0, id, false
	}
	id = sched.JobID{Hi: binary.BigEndian.Uint64(k[9:17]), Lo: binary.BigEndian.Uint64(k[17:25])}
	return int64(binary.BigEndian.Uint64(k[1:9])), id, true
}

func appKey(b []byte, app string) []byte { return append(append(b, prefixApp), app...) }

func ringKey(b []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint32(append(b, prefixRing), uint32(n%ringSize))
}

func metaKey(name string) []byte { return append([]byte{prefixMeta}, name...) }

func appendJobID(b []byte, id sched.JobID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Hi), id.Lo)
}
