package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are those of a run.
type options struct {
	program  string
	hosts    int
	delay    time.Duration
	security string
	ansible  string
	must     bool
	keep     bool
	replay   bool
	spark    string
	trace    string
	speedup  float64
}

// leastHosts are one with a master, a frontend and a NATS server, and two nodes: one is replaced.
const leastHosts, mostHosts = 3, 200

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/pigeon", "the pigeon to install")
	flag.IntVar(&o.hosts, "hosts", 24, "hosts, 3 to 200; from 5 on, three have masters, frontends and NATS servers")
	flag.DurationVar(&o.delay, "delay", 250*time.Microsecond, "delay of each packet that leaves a host")
	flag.StringVar(&o.security, "security", "tls", "tls or insecure")
	flag.StringVar(&o.ansible, "ansible", "", "ansible-playbook, which installs in place of 'pigeon cluster apply'")
	flag.BoolVar(&o.must, "must", false, "end with status 1 where this machine cannot make hosts")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder, with logs")
	flag.BoolVar(&o.replay, "replay", false, "only 'pigeon replay --hosts'")
	flag.StringVar(&o.spark, "spark", "", "only 'pigeon replay --via spark --hosts', by the Spark in this folder")
	flag.StringVar(&o.trace, "trace", "", "only the paper's experiment with this trace, or gen:ec2 where there is no such file, beside the simulator")
	flag.Float64Var(&o.speedup, "speedup", 1, "of that: divide arrivals and durations by this")
	flag.Parse()
	if o.hosts < leastHosts || o.hosts > mostHosts {
		fmt.Fprintf(os.Stderr, "testbed: %d hosts; use %d to %d\n", o.hosts, leastHosts, mostHosts)
		os.Exit(2)
	}
	if why := missing(); why != "" {
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
	if o.trace != "" {
		if o.trace, err = traceOr(o.trace); err != nil {
			return err
		}
	}
	program, err := filepath.Abs(o.program)
	if err != nil {
		return err
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
	s := &steps{bed: b, opts: o, program: program}
	if err := s.makeHosts(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d hosts as network namespaces, %v delay a packet: made in %.1f s\n", o.hosts, b.delay, time.Since(began).Seconds())
	return s.all(ctx)
}

// generated resembles the published trace that is not there.
const generated = "gen:ec2,burst=true,load=0.90"

// traceOr returns a trace by its whole path, or a generator where it is not there.
func traceOr(name string) (string, error) {
	if strings.HasPrefix(name, "gen:") {
		return name, nil
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stdout, "%s is not there; %s takes its place\n", name, generated)
		return generated, nil
	}
	return filepath.Abs(name)
}
