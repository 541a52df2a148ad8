package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Host is a machine on which daemons are installed: with settings in /etc/pigeon, and units.
type Host struct {
	Root string    // of its files; tests name a folder
	Now  time.Time // for what expires
	// Load reads and checks the settings of a role.
	Load func(role, path string) (Settings, error)
	// Readable reports whether a user can read a file; nil where only root could try it.
	Readable func(user, path string) bool
}

// Settings is what matters of a file of settings.
type Settings struct {
	Insecure bool     // every caller may do everything
	Files    []string // absolute paths that it names, of files and folders
}

// settingsRoles are the roles with settings in /etc/pigeon, by the beginning of the file's name.
var settingsRoles = []string{"frontend", "master", "nodemonitor", "nats"}

// Installed reports whether daemons are installed on the host.
func (h *Host) Installed() bool {
	info, err := os.Stat(h.path("/etc/pigeon"))
	return err == nil && info.IsDir()
}

func (h *Host) path(name string) string { return filepath.Join(h.Root, name) }

// name returns a path of the host as it is without its root.
func (h *Host) name(path string) string {
	if h.Root == "" || h.Root == "/" {
		return path
	}
	return strings.TrimPrefix(path, filepath.Clean(h.Root))
}

// faults gathers what is wrong with several things of one kind.
type faults struct {
	status Status
	found  []string
	advice []string
}

// addf records a finding; the advice is given once.
func (f *faults) addf(s Status, advice, format string, values ...any) {
	if f.status != Bad {
		f.status = s
	}
	f.found = append(f.found, fmt.Sprintf(format, values...))
	if !slices.Contains(f.advice, advice) {
		f.advice = append(f.advice, advice)
	}
}

// mostFound bounds what one finding lists.
const mostFound = 10

// finding returns the faults, or that all is good.
func (f *faults) finding(good string) Finding {
	if len(f.found) == 0 {
		return Finding{Status: Good, Found: good}
	}
	found := f.found
	if len(found) > mostFound {
		found = append(slices.Clone(found[:mostFound]), fmt.Sprintf("and %d more", len(f.found)-mostFound))
	}
	return Finding{Status: f.status, Found: strings.Join(found, "; "), Advice: strings.Join(f.advice, "; ")}
}

// ask says how to read what this user cannot.
const ask = "run pigeon doctor as root"
