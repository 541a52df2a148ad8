package guard

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Where a program was found is used again for foundFor: the search examines several folders with
// system calls, and a job's tasks are mostly the same program. A program that has gone meanwhile,
// or may not be run any more, is searched again when it cannot be started.
const foundFor = time.Second

// mostFound bounds the programs that are remembered, and the folders.
const mostFound = 1024

// programKey is what a search depends on, besides the files.
type programKey struct{ user, path, name string }

// folderKey is what a look at a folder depends on, besides the files.
type folderKey struct{ user, path string }

// programs are those that were found a moment ago, and the folders that were looked at. The methods may
// be called from any goroutine.
type programs struct {
	mu      sync.Mutex
	found   map[programKey]foundProgram
	folders map[folderKey]time.Time
}

type foundProgram struct {
	path string
	at   time.Time
}

// keyOf returns the key of a spec's program, the zero key for one that is relative to its folder.
func keyOf(s *Spec, path string) programKey {
	name := s.Argv[0]
	if s.Script != nil || strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return programKey{}
	}
	return programKey{user: s.user(), path: path, name: name}
}

// user returns what distinguishes the user of the process, "" for the guard's own.
func (s *Spec) user() string {
	if s.As == nil {
		return ""
	}
	return s.As.String()
}

// String returns what distinguishes the user: the number, that of the group, and those of the others.
func (u *User) String() string {
	b := strconv.AppendUint(nil, uint64(u.UID), 10)
	for _, g := range append([]uint32{u.GID}, u.Groups...) {
		b = strconv.AppendUint(append(b, ':'), uint64(g), 10)
	}
	return string(b)
}

// get returns where the program was found, "" when it must be searched.
func (p *programs) get(k programKey) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.found[k]; time.Since(f.at) < foundFor {
		return f.path
	}
	return ""
}

func (p *programs) put(k programKey, path string) {
	if p == nil || k == (programKey{}) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= mostFound {
		p.found = make(map[programKey]foundProgram)
	}
	p.found[k] = foundProgram{path, time.Now()}
}

// mayEnter reports whether the user of a process could enter the folder that its task names, a moment ago.
func (p *programs) mayEnter(s *Spec) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.folders[folderKey{s.user(), s.Dir}]) < foundFor
}

// entered records that the user may enter the folder. One on a disk of another machine is not remembered: a
// process that enters it waits for that machine, and the loop for the process.
func (p *programs) entered(s *Spec) {
	if p == nil || s.MakeDir || !isLocal(s.Dir) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folders == nil || len(p.folders) >= mostFound {
		p.folders = make(map[folderKey]time.Time)
	}
	p.folders[folderKey{s.user(), s.Dir}] = time.Now()
}

// forget removes a program that could not be started, and its folder.
func (p *programs) forget(k programKey, s *Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.found, k)
	delete(p.folders, folderKey{s.user(), s.Dir})
}

// isLocal reports whether a folder is known to be on this machine's own disk or in its memory.
func isLocal(folder string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil {
		return false
	}
	switch int64(fs.Type) { //nolint:unconvert // its type differs between architectures
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}
