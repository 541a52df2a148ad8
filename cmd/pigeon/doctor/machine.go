package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Port is an address a daemon wants.
type Port struct {
	Address string // host:port
	Use     string // the daemon that listens there
}

// Folder is one that a daemon uses.
type Folder struct {
	Path  string
	Use   string             // the daemon
	Check func(string) error // what the daemon itself checks at its start and while it runs
}

// filesWanted is what a local cluster of 120 nodes with a connection each to
// its master and to ten frontends, both ends in one process, may hold open.
const filesWanted = 4096

func openFiles() Finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Finding{Status: Warn, Found: fmt.Sprintf("limit could not be read: %v", err), Advice: "see that 'ulimit -n' is at least 4096"}
	}
	f := Finding{Status: Good, Found: fmt.Sprintf("%d may be open (at most %d)", limit.Cur, limit.Max)}
	if limit.Cur < filesWanted {
		f.Status = Warn
		f.Advice = fmt.Sprintf("a local cluster of 120 nodes may need %d: run 'ulimit -n %d' first, or raise LimitNOFILE of the service", filesWanted, filesWanted)
	}
	return f
}

func ports(wanted []Port) Finding {
	var f faults
	var free []string
	const next = "if that is Pigeon, all is well; else 'ss -ltnp' shows the process: stop it, or give the daemon another address"
	for _, p := range wanted {
		l, err := net.Listen("tcp", p.Address)
		if err == nil {
			err = l.Close()
		}
		switch {
		case err == nil:
			free = append(free, p.Address)
		case errors.Is(err, syscall.EADDRINUSE):
			f.addf(Warn, next, "%s (%s) is in use", p.Address, p.Use)
		default:
			f.addf(Warn, next, "%s (%s): %v", p.Address, p.Use, err)
		}
	}
	return f.finding("free: " + strings.Join(free, ", "))
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
