package guard

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Where a program was found is used again for foundFor: the search examines several folders with
// system calls, and a job's tasks are mostly the same program. A program that has gone meanwhile,
// or may not be run any more, is searched again when it cannot be started.
const foundFor = time.Second

// mostFound bounds the programs that are remembered.
const mostFound = 1024

// programKey is what a search depends on, besides the files.
type programKey struct{ user, path, name string }

// programs are those that were found a moment ago. The methods may be called from any goroutine.
type programs struct {
	mu    sync.Mutex
	found map[programKey]foundProgram
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
	k := programKey{path: path, name: name}
	if s.As != nil {
		k.user = s.As.String()
	}
	return k
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

// forget removes a program that could not be started.
func (p *programs) forget(k programKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.found, k)
}
