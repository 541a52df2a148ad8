package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// visitors are the nodes that come and go, one event every half to one and a half seconds:
// a node comes, under a new name until all names were used; or one goes, in order or by
// SIGKILL.
type visitors struct {
	cluster *cluster.Cluster
	rand    *rand.Rand
	names   int           // at most
	used    int           // names so far
	within  time.Duration // how long one may take to stop in order
	present []visitor

	came, stopped, killed int
}

type visitor struct {
	name    string
	process *childproc.Process
}

// mostPresent is how many are there at most.
const mostPresent = 8

// stopsWithin is how long one may take to stop in order.
const stopsWithin = 20 * time.Second

// run starts and stops nodes until the context ends, and then ends all.
func (v *visitors) run(ctx context.Context) error {
	for {
		wait := time.NewTimer(time.Duration(500+v.rand.IntN(1000)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			var err error
			for len(v.present) > 0 {
				err = errors.Join(err, v.leave(0, false))
			}
			return err
		}
		if n := len(v.present); n == 0 || n < mostPresent && v.rand.IntN(2) == 0 {
			if err := v.come(); err != nil {
				return err
			}
		} else if err := v.leave(v.rand.IntN(n), v.rand.IntN(2) == 0); err != nil {
			return err
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
	program, err := product.Program()
	if err != nil {
		return err
	}
	dir, like := v.cluster.Dir(), v.cluster.Name(cluster.NodeMonitor, v.came%v.cluster.Count(cluster.NodeMonitor)) // of each group in turn
	argv := []string{
		program, string(cluster.NodeMonitor), "--config", filepath.Join(dir, "config", like+".yaml"),
		"--id", name, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "", "--work-dir", filepath.Join(dir, "work", name),
	}
	p, err := v.cluster.StartClient(childproc.Command{Name: name, Argv: argv, Env: []string{}, Log: filepath.Join(dir, "logs", name+".log")})
	if err != nil {
		return err
	}
	v.came++
	v.present = append(v.present, visitor{name, p})
	return nil
}

// leave ends a node. A node that has ended by itself, or does not end when it is asked to, is an
// error: nodes that are not there load no daemon, and a run with them would be flat.
func (v *visitors) leave(i int, kill bool) error {
	p, name := v.present[i].process, v.present[i].name
	v.present = slices.Delete(v.present, i, i+1)
	if !p.Running() {
		return p.Failure()
	}
	if kill {
		v.killed++
		p.Kill()
		return nil
	}
	_ = p.Signal(syscall.SIGTERM) // it may have ended
	if !p.Wait(v.within) {
		p.Kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed; %s", name, v.within, p.LogEnd())
	}
	v.stopped++
	return nil
}
