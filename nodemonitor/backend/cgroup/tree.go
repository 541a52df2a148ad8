package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Off is the setting for no cgroup.
const Off = "off"

// controllers are those that limits need.
var controllers = []string{"cpu", "memory", "pids"}

// Tree is a delegated cgroup. It is safe for concurrent use.
type Tree struct {
	root string
	has  []string // of the controllers
	sys  *system

	mu     sync.Mutex
	shared map[int]int // descriptors of the cgroups without limits, by weight
}

// Open prepares the cgroup that the setting names (the package's documentation lists its
// values): this process moves into a cgroup of its own there, and the controllers are handed to
// those below. The error is why there is none, for a person.
func Open(setting string) (*Tree, error) { return openTree(setting, machine()) }

func openTree(setting string, s *system) (*Tree, error) {
	root := setting
	switch setting {
	case Off:
		return nil, errors.New(`the setting cgroup is "off"`)
	case "":
		found, err := s.delegated()
		if err != nil {
			return nil, err
		}
		root = found
	default:
		if !s.isV2(filepath.Dir(root)) {
			return nil, fmt.Errorf("%s is not below a folder of cgroup v2", root)
		}
		if err := makeFolder(root); err != nil {
			return nil, fmt.Errorf("the cgroup of the setting cgroup cannot be made: %w", err)
		}
	}
	if !s.isV2(root) {
		return nil, fmt.Errorf("%s is no folder of cgroup v2", root)
	}
	if err := canStart(); err != nil {
		return nil, err
	}
	t := &Tree{root: root, sys: s, shared: map[int]int{}}
	return t, t.prepare()
}

// canStart returns an error where the kernel cannot start a process in a cgroup (before 5.7).
func canStart() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	release := unix.ByteSliceToString(u.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 7 {
		return fmt.Errorf("the kernel is %s, and 5.7 is needed to start processes in a cgroup", release)
	}
	return nil
}

// prepare moves the processes out of the root, hands the controllers down, and removes what an
// earlier guard has left.
func (t *Tree) prepare() error {
	available, err := words(t.root, "cgroup.controllers")
	if err != nil {
		return err
	}
	for _, c := range controllers {
		if slices.Contains(available, c) {
			t.has = append(t.has, c)
		}
	}
	if len(t.has) == 0 {
		return fmt.Errorf("the cgroup %s has none of the controllers %s (a machine with cgroup v1 keeps them there)", t.root, strings.Join(controllers, ", "))
	}
	if other := t.sys.others(t.root); other != 0 {
		return fmt.Errorf("the cgroup %s holds process %d, which this program has not started", t.root, other)
	}
	daemon := filepath.Join(t.root, daemonName)
	if err := makeFolder(daemon); err != nil {
		return err
	}
	for _, pid := range t.sys.processes(t.root) {
		if err := t.sys.write(daemon, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("process %d cannot be moved to %s: %w", pid, daemon, err)
		}
	}
	for _, c := range t.has {
		if err := t.sys.write(t.root, "cgroup.subtree_control", "+"+c); err != nil {
			return fmt.Errorf("the controller %s of %s cannot be used below it: %w", c, t.root, err)
		}
	}
	t.removeOld()
	return nil
}

// removeOld removes the cgroups of processes that have ended, of an earlier guard. Those that
// still hold some stay, and so do new ones, in which another guard is about to start one.
func (t *Tree) removeOld() {
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), groupPrefix) && time.Since(info.ModTime()) > time.Minute {
			_ = t.sys.remove(filepath.Join(t.root, e.Name())) // it still holds processes
		}
	}
}

// At returns the tree that another process of this program has opened, "" for none.
func At(root string) *Tree {
	if root == "" {
		return nil
	}
	t := &Tree{root: root, sys: machine(), shared: map[int]int{}}
	enabled, err := words(root, "cgroup.subtree_control")
	if err != nil {
		return nil
	}
	for _, c := range controllers {
		if slices.Contains(enabled, c) {
			t.has = append(t.has, c)
		}
	}
	return t
}

// Root returns the folder of the tree, "" for none.
func (t *Tree) Root() string {
	if t == nil {
		return ""
	}
	return t.root
}

// Lacks returns the controllers that the tree does not have, whose limits are not enforced.
func (t *Tree) Lacks() []string {
	return slices.DeleteFunc(slices.Clone(controllers), func(c string) bool { return slices.Contains(t.has, c) })
}

// Shared returns a descriptor of the cgroup of processes without limits that have a weight. It
// stays open, and no process can be started in it once the cgroup has been removed: systemd removes
// what is empty below the cgroup of a unit that ends, also of one that it starts again.
func (t *Tree) Shared(weight int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	folder := filepath.Join(t.root, "weight-"+strconv.Itoa(weight))
	if fd, known := t.shared[weight]; known {
		if unix.Access(folder, unix.F_OK) == nil {
			return fd, nil
		}
		closeFolder(fd)
		delete(t.shared, weight)
	}
	err := makeFolder(folder)
	if err == nil && slices.Contains(t.has, "cpu") {
		err = t.sys.write(folder, "cpu.weight", strconv.Itoa(weight))
	}
	if err != nil {
		return 0, err
	}
	fd, err := openFolder(folder)
	if err == nil {
		t.shared[weight] = fd
	}
	return fd, err
}
