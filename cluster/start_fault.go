package cluster

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Open files that a cluster in one process needs: for the program, and for each daemon with its
// connections, journal and folders. With 4 nodes 86 were open, with 40 nodes 482; while they
// start there are more.
const (
	filesOfAll  = 100
	filesOfEach = 15
)

// filesSpare is how many files a process that has met its limit may have left when that is looked
// at, because some were closed meanwhile.
const filesSpare = 16

// notStarted returns why a cluster could not be started. Where the process can open hardly any more
// files, the error says that first, whichever daemon happened to meet the limit.
func (s *Spec) notStarted(err error) error {
	var limit syscall.Rlimit
	open, listed := os.ReadDir("/proc/self/fd")
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = 0 // not known
	}
	few := errors.Is(err, syscall.EMFILE) || errors.Is(listed, syscall.EMFILE) || listed == nil && limit.Cur > 0 && uint64(len(open)+filesSpare) > limit.Cur
	if !few {
		return fmt.Errorf("the cluster could not be started: %w", err)
	}
	daemons := s.Frontends
	for _, nodes := range s.Groups {
		daemons += 1 + nodes
	}
	need := filesOfAll + filesOfEach*daemons
	return fmt.Errorf("the cluster could not be started: this process may open %d files at a time, and %d daemons need about %d; allow more with 'ulimit -n %d' in this shell, or start fewer nodes (what met the limit: %w)",
		limit.Cur, daemons, need, need, err)
}
