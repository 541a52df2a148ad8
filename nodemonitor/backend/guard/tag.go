package guard

import (
	"hash/fnv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tags are how the descendants of a process are known, wherever they went and whatever became of their environment: by
// their limit of file locks (RLIMIT_LOCKS), which the kernel has not enforced since Linux 2.4.25. It is inherited, and a
// process can only lower it. Its bits, from the highest, say whose process it is: 24 of the node, 15 of the guard and 24 of
// the attempt.
type tags struct {
	base uint64
	on   bool // the limit of this process leaves room for them; where it does not, the mark in the environment counts
}

const (
	guardBits, handleBits = 15, 24
	ofGuard               = handleBits
	ofNode                = guardBits + handleBits
)

// tagsOf returns the tags for a token, or for the family with which it begins.
func tagsOf(token string) tags {
	family, own, found := strings.Cut(strings.TrimSuffix(token, "."), "-")
	if !found {
		own = family
	}
	hash := func(s string, bits int) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s)) // it cannot fail
		return h.Sum64() >> (64 - bits)
	}
	t := tags{base: hash(family, 63-ofNode)<<ofNode | hash(own, guardBits)<<ofGuard}
	var l unix.Rlimit
	t.on = unix.Getrlimit(rlimitLocks, &l) == nil && l.Max >= t.base|(1<<ofNode-1)
	return t
}

const rlimitLocks = 10

// of returns the tag of an attempt.
func (t *tags) of(h Handle) uint64 { return t.base | uint64(h)&(1<<handleBits-1) }

// handle returns the attempt that has a tag, 0 for one that is none of this guard's.
func (t *tags) handle(tag uint64) Handle {
	if tag>>ofGuard != t.base>>ofGuard {
		return 0
	}
	return Handle(tag & (1<<handleBits - 1))
}

// tagOf returns the tag of a process, 0 when there is no such process.
func tagOf(pid int) uint64 {
	var l unix.Rlimit
	if unix.Prlimit(pid, rlimitLocks, nil, &l) != nil {
		return 0
	}
	return l.Max
}

// killMarked kills every process that has the mark or the tag of a token, or of a family, until none is
// found. Only a guard that was itself killed leaves any.
func killMarked(token string) {
	t, bits := tagsOf(token), ofGuard
	if strings.HasSuffix(token, "-") {
		bits = ofNode
	}
	for range 100 { // against a process that forks faster than it is killed
		found := false
		for _, pid := range pids() {
			// The environment of a process cannot be read while the process holds up its own memory.
			if t.on && tagOf(pid)>>bits == t.base>>bits || !t.on && strings.HasPrefix(markOf(pid), token) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
