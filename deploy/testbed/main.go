package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are those of a run.
type options struct {
	program  string
	playbook string // the program ansible-playbook
	hosts    int
	delay    time.Duration
	security string
	trace    string  // to replay; "": install, upgrade, replace, remove
	bench    string  // the program pigeon-bench, for a trace
	speedup  float64 // of the replay
	must     bool
	keep     bool
}

// leastHosts are one with a master, a frontend and a NATS server, and two nodes: one is replaced.
const leastHosts, mostHosts = 3, 200

func main() {
	var o options
	flag.StringVar(&o.program, "program", "../bin/pigeon", "the pigeon to install")
	flag.StringVar(&o.playbook, "playbook", "ansible-playbook", "the program ansible-playbook")
	flag.IntVar(&o.hosts, "hosts", 24, "hosts, 3 to 200; from 5 on, three have masters, frontends and NATS servers")
	flag.DurationVar(&o.delay, "delay", 250*time.Microsecond, "delay of each packet that leaves a host")
	flag.StringVar(&o.security, "security", "tls", "tls or insecure")
	flag.StringVar(&o.trace, "trace", "", "replay this trace on the cluster of the paper's experiment, and compare with the simulator")
	flag.StringVar(&o.bench, "bench", "../bin/pigeon-bench", "the pigeon-bench that replays")
	flag.Float64Var(&o.speedup, "speedup", 1, "of the replay")
	flag.BoolVar(&o.must, "must", false, "end with status 1 where this machine cannot make hosts")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder, with logs")
	flag.Parse()
	if o.hosts < leastHosts || o.hosts > mostHosts {
		fmt.Fprintf(os.Stderr, "testbed: %d hosts; use %d to %d\n", o.hosts, leastHosts, mostHosts)
		os.Exit(2)
	}
	if why := missing(o.playbook); why != "" {
		fmt.Fprintf(os.Stdout, "LEFT OUT: the test bed of hosts: %s\n", why)
		if o.must {
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := onBed(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		os.Exit(1)
	}
}

// onBed makes the bed, has all steps done there and removes it.
func onBed(ctx context.Context, o options) (err error) {
	for _, path := range []*string{&o.program, &o.bench, &o.trace} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	folder, err := os.MkdirTemp("", "pigeon-testbed-")
	if err != nil {
		return err
	}
	if err := os.Chmod(folder, 0o711); err != nil { //nolint:gosec // tasks of other users pass through
		return err
	}
	began := time.Now()
	b, err := newBed(ctx, folder, o.delay)
	defer func() {
		if o.keep {
			fmt.Fprintln(os.Stdout, "kept:", folder)
			b.folder = filepath.Join(folder, "nothing")
		}
		err = errors.Join(err, b.close())
	}()
	if err != nil {
		return err
	}
	s := &steps{bed: b, opts: o, program: o.program}
	if err := s.makeHosts(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d hosts as network namespaces, %v delay a packet: made in %.1f s\n", o.hosts, b.delay, time.Since(began).Seconds())
	if o.trace != "" {
		return s.figure(ctx)
	}
	return s.all(ctx)
}
