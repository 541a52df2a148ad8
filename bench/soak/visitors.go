package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// visitors are the nodes that come and go, one event every half to one and a half seconds:
// a node comes, under a new name until all names were used; or one goes, in order or by
// SIGKILL.
type visitors struct {
	cluster *cluster.Cluster
	rand    *rand.Rand
	names   int // at most
	used    int // names so far
	present []visitor

	came, stopped, killed int
}

type visitor struct {
	name    string
	process *childproc.Process
}

// mostPresent is how many are there at most.
const mostPresent = 8

// stopsWithin is how long one may take to stop in order before it is killed.
const stopsWithin = 20 * time.Second

// run starts and stops nodes until the context ends, and then ends all.
func (v *visitors) run(ctx context.Context) error {
	for {
		wait := time.NewTimer(time.Duration(500+v.rand.IntN(1000)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			for len(v.present) > 0 {
				v.leave(0, false)
			}
			return nil
		}
		if n := len(v.present); n == 0 || n < mostPresent && v.rand.IntN(2) == 0 {
			if err := v.come(); err != nil {
				return err
			}
		} else {
			v.leave(v.rand.IntN(n), v.rand.IntN(2) == 0)
		}
	}
}

// come starts a node.
func (v *visitors) come() error {
	name := fmt.Sprintf("visitor-%03d", v.used)
	if v.used < v.names {
		v.used++
	} else {
		for there := true; there; {
			name = fmt.Sprintf("visitor-%03d", v.rand.IntN(v.names))
			there = slices.ContainsFunc(v.present, func(p visitor) bool { return p.name == name })
		}
	}
	argv, mark, err := childproc.OwnProgram(string(cluster.NodeMonitor), "cluster.Register()")
	if err != nil {
		return err
	}
	dir, like := v.cluster.Dir(), v.cluster.Name(cluster.NodeMonitor, v.came%v.cluster.Count(cluster.NodeMonitor)) // of each group in turn
	argv = append(argv, "--config", filepath.Join(dir, "config", like+".yaml"),
		"--id", name, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "", "--work-dir", filepath.Join(dir, "work", name))
	p, err := v.cluster.StartClient(childproc.Command{Name: name, Argv: argv, Env: childproc.Marked(nil, mark), Log: filepath.Join(dir, "logs", name+".log")})
	if err != nil {
		return err
	}
	v.came++
	v.present = append(v.present, visitor{name, p})
	return nil
}

// leave ends a node.
func (v *visitors) leave(i int, kill bool) {
	p := v.present[i].process
	v.present = slices.Delete(v.present, i, i+1)
	if kill {
		v.killed++
		p.Kill()
		return
	}
	v.stopped++
	_ = p.Signal(syscall.SIGTERM) // it may have ended
	if !p.Wait(stopsWithin) {
		p.Kill()
	}
}
