package sparktest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// process is a process that works below the cluster's folder: a driver, an executor,
// or a child of one. The daemons work in the folder itself.
type process struct {
	pid    int
	folder string
	args   []string
}

func (p process) String() string {
	words := strings.Join(p.args, " ")
	if len(words) > 200 {
		words = words[:100] + " ... " + words[len(words)-100:]
	}
	return fmt.Sprintf("%d in %s: %s", p.pid, p.folder, words)
}

func (p process) kill() error { return syscall.Kill(p.pid, syscall.SIGKILL) }

// processes returns them by their working folders, which a process keeps when the
// folder is removed.
func (c *Cluster) processes() []process {
	found, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil // the pattern is one
	}
	var list []process
	for _, link := range found {
		folder, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(folder, c.dir+"/") {
			continue // it has ended, or belongs to another program
		}
		at := filepath.Dir(link)
		pid, err := strconv.Atoi(filepath.Base(at))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(at, "cmdline"))
		if err != nil || len(text) == 0 {
			continue // it is ending
		}
		list = append(list, process{pid, strings.TrimSuffix(folder, " (deleted)"), strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")})
	}
	return list
}

// Executor is the process of an executor of Spark.
type Executor struct {
	App, ID string
	Node    int
	Pid     int
}

// Kill kills it.
func (x Executor) Kill() error { return syscall.Kill(x.Pid, syscall.SIGKILL) }

// Pause suspends it.
func (x Executor) Pause() error { return syscall.Kill(x.Pid, syscall.SIGSTOP) }

// Resume continues it.
func (x Executor) Resume() error { return syscall.Kill(x.Pid, syscall.SIGCONT) }

// Executors returns the running executors, by node and number.
func (c *Cluster) Executors() []Executor {
	var list []Executor
	for _, p := range c.processes() {
		if !slices.Contains(p.args, "--executor-id") {
			continue // one that an executor started, such as Python's
		}
		folder := strings.Split(strings.TrimPrefix(p.folder, c.dir+"/"), "/") // work/NODE/applications/APP/EXECUTOR
		if len(folder) != 5 {
			continue
		}
		list = append(list, Executor{App: folder[3], ID: folder[4], Node: slices.Index(c.nodes, folder[1]), Pid: p.pid})
	}
	slices.SortFunc(list, func(a, b Executor) int {
		if a.Node != b.Node {
			return a.Node - b.Node
		}
		return a.Pid - b.Pid
	})
	return list
}
