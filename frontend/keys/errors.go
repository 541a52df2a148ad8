package keys

import (
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func bucketFull(bucket string, lifetime time.Duration, err error) error {
	return &api.Error{Problem: api.Busy, Subject: "bucket " + bucket, What: fmt.Sprintf("there is no room for another key (%v; its limit is %d bytes)", err, int64(MaxBytes)),
		Tried: "accepting a job under an idempotency key; nothing was accepted", Next: fmt.Sprintf("submit jobs without a key of your own, or wait: a key is kept for %v after its job has ended", lifetime), RetryAfter: time.Minute}
}

// elsewhere leads to the home of a key. Whether it has the job is not known here.
func elsewhere(frontend, address, key, tried string) error {
	return &api.Error{Problem: api.NotReady, What: fmt.Sprintf("its key leads to frontend %q at %s", frontend, address), Subject: fmt.Sprintf("job %q", key),
		Tried: tried, Next: "ask there; if it does not answer, start that frontend or a standby of it", RetryAfter: time.Second, Address: address}
}

func contended(key string) error {
	return &api.Error{Problem: api.NotReady, What: "several frontends are taking the key", Subject: fmt.Sprintf("job %q", key),
		Tried: "becoming its home; nothing was accepted", Next: "submit it again with the same key", RetryAfter: time.Second}
}

// unready is for a bucket that does not answer, unless it has refused with an error of its own.
func unready(key string, err error) error {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return refused
	}
	return &api.Error{Problem: api.NotReady, What: "the bucket of keys does not answer: " + err.Error(), Subject: fmt.Sprintf("job %q", key),
		Tried: "looking up who has its key; nothing was accepted", Next: "submit it again with the same key when more than half of the NATS servers run", RetryAfter: time.Second}
}
