// Package launchsecret holds the numbers that prove to a frontend that the report of an attempt
// comes from where the attempt was launched (docs/adr/0039-nats-and-secrets.md).
//
//	key of the frontend ──SHA-256──▶ key of a job ──SipHash-2-4──▶ secret of an attempt
//	  its journal                      its masters                   its node
//
// A frontend has one key, which its journal keeps. A master gets the keys of the jobs whose tasks
// it queues, and a node the secrets of the attempts that it is given. Nothing is kept for each
// task: a daemon that has the key of the job computes the secret again.
package launchsecret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// KeySize is the length of a frontend's key, bytes.
const KeySize = 32

// Key is the key of a frontend.
type Key [KeySize]byte

// NewKey returns a random key.
func NewKey() (k Key) {
	_, _ = rand.Read(k[:]) // it never fails: the process ends instead
	return k
}

// JobKey is the key of one job. The zero value means none.
type JobKey struct{ Hi, Lo uint64 }

// Job returns the key of a job: the first 16 bytes of the SHA-256 of the frontend's key and the
// job's id. Both have one length, and half of the hash is left out, so that no node can append
// to what was hashed.
func (k Key) Job(id sched.JobID) JobKey {
	var in [KeySize + 16]byte
	copy(in[:], k[:])
	binary.LittleEndian.PutUint64(in[KeySize:], id.Hi)
	binary.LittleEndian.PutUint64(in[KeySize+8:], id.Lo)
	sum := sha256.Sum256(in[:])
	return JobKey{binary.LittleEndian.Uint64(sum[8:]), binary.LittleEndian.Uint64(sum[:])}
}

// Attempt returns the secret of an attempt of a task of the job, which is never 0. Without a key
// it is 0, which stands for none.
func (k JobKey) Attempt(task, attempt int32) int64 {
	if k == (JobKey{}) {
		return 0
	}
	word := uint64(uint32(task)) | uint64(uint32(attempt))<<32 //nolint:gosec // the same bits
	return int64(max(sipHash(k.Lo, k.Hi, word), 1))            //nolint:gosec // the same bits
}
