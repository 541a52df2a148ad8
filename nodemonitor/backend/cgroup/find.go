package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// daemonName is the cgroup of the node monitor and its guard below the root. systemd makes it
// itself where a unit has DelegateSubgroup=daemon.
const daemonName = "daemon"

// own returns the folder of the cgroup v2 of this process.
func (s *system) own() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.proc, "self", "cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found {
			return s.folderOf(path)
		}
	}
	return "", fmt.Errorf("this machine has no cgroup v2")
}

// folderOf returns where a cgroup is in the file system, by the mounts that this process sees.
func (s *system) folderOf(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(s.proc, "self", "mountinfo"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		mount, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !found || !strings.HasPrefix(kind, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		below, err := filepath.Rel(unescaped(fields[3]), path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // this process is outside of what is mounted
		}
		return filepath.Join(unescaped(fields[4]), below), nil
	}
	return "", fmt.Errorf("no cgroup v2 is mounted that has the cgroup %s of this process", path)
}

// unescaped returns a path of mountinfo, which has a space as \040.
func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// delegated returns the cgroup that was delegated to this process: its own, or the one above
// the cgroup "daemon" in which it is.
func (s *system) delegated() (string, error) {
	own, err := s.own()
	if err != nil {
		return "", err
	}
	if above := filepath.Dir(own); filepath.Base(own) == daemonName && s.isDelegated(above) {
		return above, nil
	}
	if !s.isDelegated(own) {
		return "", fmt.Errorf("the cgroup %s was not delegated to this program (systemd: Delegate=yes)", own)
	}
	if other := s.others(own); other != 0 {
		return "", fmt.Errorf("the cgroup %s holds process %d, which this program has not started", own, other)
	}
	return own, nil
}

// isDelegated reports whether a cgroup was given to this program or its user. That root may
// write there proves nothing.
func (s *system) isDelegated(folder string) bool {
	if s.xattr(folder, "trusted.delegate") == "1" || s.xattr(folder, "user.delegate") == "1" {
		return true
	}
	info, err := os.Stat(folder)
	if err != nil || s.uid == 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == s.uid
}

// others returns a process in a cgroup that is neither this one nor below it, 0 for none.
func (s *system) others(folder string) int {
	for _, pid := range s.processes(folder) {
		if !s.isBelow(pid) {
			return pid
		}
	}
	return 0
}

// processes lists the processes in a cgroup.
func (s *system) processes(folder string) (pids []int) {
	list, err := words(folder, "cgroup.procs")
	if err != nil {
		return nil
	}
	for _, word := range list {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isBelow reports whether a process is this one or one that it, or what it has started, has
// started.
func (s *system) isBelow(pid int) bool {
	for seen := []int{}; pid > 1 && !slices.Contains(seen, pid); pid = s.parent(pid) {
		if pid == s.pid {
			return true
		}
		seen = append(seen, pid)
	}
	return pid == s.pid
}

// parent returns the parent of a process, 0 when there is no such process. The name of the
// program, in brackets, may hold anything.
func (s *system) parent(pid int) int {
	text, err := os.ReadFile(filepath.Join(s.proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
