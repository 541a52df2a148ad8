package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	syncs     = 20
	slowSync  = 10 * time.Millisecond
	spaceLeft = 1 << 30 // bytes: a journal of 1,000,000 tasks, with room to compact
)

// disk writes and syncs 4 KiB as the journal does: a job is accepted no faster
// than the disk confirms the write.
func disk(dir string) Finding {
	times, err := timeSyncs(dir)
	if err != nil {
		return Finding{
			Status: Bad, Found: fmt.Sprintf("%s: %v", dir, err),
			Advice: "a frontend keeps its journal in a folder that it can write; set TMPDIR, or give --data a folder on a disk with room",
		}
	}
	median := times[len(times)/2]
	f := Finding{Status: Good, Found: fmt.Sprintf("%s: 4 KiB written and synced in %v (median), %v (slowest of %d)", dir, median.Round(time.Microsecond), times[len(times)-1].Round(time.Microsecond), syncs)}
	if median > slowSync {
		f.Status = Warn
		f.Advice = "every submission waits for such a sync (many share one); keep the journal on a faster disk"
	}
	return f
}

func timeSyncs(dir string) (times []time.Duration, err error) {
	file, err := os.CreateTemp(dir, "pigeon-doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, 4096)
	for range syncs {
		begin := time.Now()
		if _, err := file.Write(block); err != nil {
			return nil, err
		}
		if err := file.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times, nil
}

// folders makes the checks of the daemons. Of a folder that is not there yet, the next one above it that is
// counts.
func folders(list []Folder) Finding {
	var f faults
	var good []string
	for _, folder := range list {
		err := folder.Check(Existing(folder.Path))
		switch {
		case errors.Is(err, fs.ErrPermission):
			f.addf(Warn, ask, "%s, of the %s, cannot be tried", folder.Path, folder.Use)
		case err != nil:
			f.addf(Bad, "correct that, or name another folder in the settings (work_dir, data) or TMPDIR", "%s, of the %s: %v", folder.Path, folder.Use, err)
		default:
			good = append(good, folder.Path+" ("+folder.Use+")")
		}
	}
	return f.finding("can be used: " + strings.Join(good, ", "))
}

// Existing returns the folder, or the next one above it that is there.
func Existing(path string) string {
	for {
		above := filepath.Dir(path)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || above == path {
			return path
		}
		path = above
	}
}

func space(dir string) Finding {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Finding{Status: Warn, Found: fmt.Sprintf("%s: %v", dir, err), Advice: "see that 'df' shows 1 GiB free on the disk of the journal"}
	}
	free := s.Bavail * uint64(s.Bsize)
	f := Finding{Status: Good, Found: fmt.Sprintf("%s: %.1f GiB free", dir, float64(free)/(1<<30))}
	if free < spaceLeft {
		f.Status = Warn
		f.Advice = "a full disk stops a frontend from accepting jobs; free some room, or put the journal elsewhere"
	}
	return f
}
