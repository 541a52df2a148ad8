package journal

import (
	"errors"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Journal is an open journal. Its methods may be called from any goroutine.
type Journal struct {
	dir    string
	opts   Options
	lock   *dirLock
	queue  *queue
	commit *committer // until it has ended, only its goroutine uses it
	ended  endedJobs
	space  space

	// reading is held by readers of the store, and by Close while it closes the store.
	reading     sync.RWMutex
	store       backing // appended to by the committer alone
	storeClosed bool    // guarded by reading
}

// Err returns why the journal is broken, nil while it works.
func (j *Journal) Err() error { return j.queue.err() }

// Known is the state of a job id in the journal.
type Known struct {
	Live  bool   // accepted, perhaps not yet on the disk, and not ended
	Ended *Ended // ended within the retention
}

// Lookup returns what the journal holds of a job. The id is derived from the job's
// key, so this is how a repeated submission is recognised. The result is the zero
// Known for a job that was never accepted, or that ended longer ago than the
// retention.
func (j *Journal) Lookup(id sched.JobID) (Known, error) {
	if j.queue.isLive(id) {
		return Known{Live: true}, nil
	}
	j.reading.RLock()
	defer j.reading.RUnlock()
	if j.storeClosed {
		return Known{}, errClosed
	}
	e, err := j.ended.get(id)
	if err != nil || e == nil || e.At < j.ended.expired() {
		return Known{}, err
	}
	if err := j.ended.readStopped(e); err != nil {
		return Known{}, j.ended.fault("looking up the ended job "+id.String(), err)
	}
	return Known{Ended: e}, nil
}

// Close writes what is queued, answers every record, and releases the folder. It
// blocks until the committer has ended and may be called twice. A broken journal
// stays locked until the process ends.
func (j *Journal) Close() error {
	first, err := j.queue.close()
	if err != nil {
		if first {
			j.closeAbandoned(err)
		}
		return err
	}
	select {
	case <-j.commit.stopped:
	case <-j.queue.gone: // the committer may be blocked in the store forever
	}
	if err := j.Err(); err != nil || !first {
		if first {
			j.closeAbandoned(err)
		}
		return err
	}
	j.reading.Lock()
	defer j.reading.Unlock()
	j.storeClosed = true
	err = j.guarded(func() error { return errors.Join(j.commit.saveLastAge(), j.store.Close()) })
	if why := j.Err(); why != nil { // it broke, or was abandoned, meanwhile
		j.releaseAbandoned(why)
		return err
	}
	if err == nil {
		err = j.commit.witness.acknowledge(j.commit.number, j.opts.Now())
	}
	if err = errors.Join(err, j.commit.witness.close(), j.lock.release()); err != nil {
		return folderErr(j.dir, "closing it; everything acknowledged is read back", err)
	}
	return nil
}

// Abandon breaks the journal: every Append, queued or new, gets the reason, and nothing more
// is acknowledged. What is being written may be kept or not. A journal in a folder stays
// locked until the process ends.
func (j *Journal) Abandon(reason error) {
	j.queue.end(reason)
	if s, ok := j.store.(abandoner); ok {
		s.Abandon(reason)
	}
}

// closeAbandoned closes a broken journal whose store can be closed all the same.
func (j *Journal) closeAbandoned(why error) {
	if _, ok := j.store.(abandoner); !ok {
		return // a reader may be blocked in the store forever, with the lock
	}
	j.reading.Lock()
	defer j.reading.Unlock()
	j.releaseAbandoned(why)
}

// releaseAbandoned closes the store of a broken journal, if it can be closed all the same, and
// releases the folder. The caller holds the lock of readers.
func (j *Journal) releaseAbandoned(why error) {
	s, ok := j.store.(abandoner)
	if !ok {
		return
	}
	s.Abandon(why)
	<-j.commit.stopped
	j.storeClosed = true
	if err := errors.Join(j.store.Close(), j.commit.witness.close(), j.lock.release()); err != nil {
		j.opts.Logger.Debug("closing a journal that is broken", "error", err)
	}
}

// guarded makes a call to the store that may block forever or end its goroutine when the store
// breaks. It returns its error, or why the journal is broken.
func (j *Journal) guarded(call func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errStoreEnded
		defer func() { done <- err }()
		err = call()
	}()
	select {
	case err := <-done:
		if broken := j.Err(); broken != nil && err != nil {
			return broken
		}
		return err
	case <-j.queue.gone:
		return j.Err()
	}
}
