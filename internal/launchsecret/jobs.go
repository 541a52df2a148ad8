package launchsecret

import (
	"crypto/subtle"
	"encoding/binary"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Jobs computes the keys of jobs. The key of the last job is kept, because tasks of one job come
// together. It belongs to one goroutine. The zero value and nil have no key, and no secrets.
type Jobs struct {
	key  Key
	last sched.JobID
	of   JobKey // of last
}

// NewJobs returns the jobs of a frontend with that key.
func NewJobs(k Key) *Jobs { return &Jobs{key: k} }

// Key returns the key of a job.
func (j *Jobs) Key(id sched.JobID) JobKey {
	if j == nil || j.key == (Key{}) {
		return JobKey{}
	}
	if id != j.last || j.of == (JobKey{}) {
		j.last, j.of = id, j.key.Job(id)
	}
	return j.of
}

// Secret returns the secret of an attempt.
func (j *Jobs) Secret(id sched.AttemptID) int64 { return j.Key(id.Job).Attempt(id.Task, id.Attempt) }

// Proves reports whether a secret is that of an attempt. It takes as long for any secret.
func (j *Jobs) Proves(id sched.AttemptID, secret int64) bool {
	var want, got [8]byte
	binary.LittleEndian.PutUint64(want[:], uint64(j.Secret(id))) //nolint:gosec // the same bits
	binary.LittleEndian.PutUint64(got[:], uint64(secret))        //nolint:gosec // the same bits
	return secret != 0 && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
