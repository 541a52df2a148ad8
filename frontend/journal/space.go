package journal

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// MemoryBytes returns how many bytes the journal's store holds in memory, 0 when it is
// closed.
func (j *Journal) MemoryBytes() uint64 {
	j.reading.RLock()
	defer j.reading.RUnlock()
	if j.storeClosed {
		return 0
	}
	return j.store.Memory()
}

// minFree is MinFree of a journal that is given none.
const minFree = 256 << 20

// CheckRoom returns why a journal in the folder would accept no job, nil when it would.
func CheckRoom(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", folder, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < minFree { //nolint:gosec // a size is not negative
		return fmt.Errorf("%d bytes are free on the disk of %s, and a frontend accepts no job below %d", free, folder, minFree)
	}
	return nil
}

// spaceEvery is how long the cached result is valid.
const spaceEvery = time.Second

// space caches whether the disk has space for new jobs.
type space struct {
	mu   sync.Mutex
	at   time.Time
	full error
}

// check returns why no new job is accepted, nil when the disk has space for it.
func (s *space) check(j *Journal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := j.opts.Now()
	if !s.at.IsZero() && now.Sub(s.at).Abs() < spaceEvery {
		return s.full
	}
	s.at, s.full = now, nil
	j.reading.RLock()
	defer j.reading.RUnlock()
	if j.storeClosed {
		return nil // refused for that reason
	}
	used, free, err := j.store.Space()
	if used > j.opts.MaxBytes {
		s.full = busy(fmt.Sprintf("it occupies %d bytes in %s, the limit is %d", used, j.dir, j.opts.MaxBytes), "accepting a job", "wait until jobs have ended, or raise the limit")
	}
	if err == nil && free < j.opts.MinFree {
		place := "on the disk of " + j.dir
		if p, ok := j.store.(interface{ Place() string }); ok {
			place = "in " + p.Place()
		}
		s.full = busy(fmt.Sprintf("%d bytes are free %s, %d must stay free for the ends of accepted jobs", free, place, j.opts.MinFree),
			"accepting a job", "make room there")
	}
	return s.full
}
