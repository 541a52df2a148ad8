// Package clustertest lets a test binary be the daemons of a cluster of
// processes, and the guard of exec tasks: both start the running program again,
// and that is the test. Without it such a test is refused: it would start
// itself forever.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// Main is for TestMain: it runs a daemon or the guard when this program was
// started as one, else the tests, with a check for leaked goroutines.
func Main(m *testing.M) {
	guard.Register()
	cluster.Register()
	var run func(context.Context, string) error
	if len(os.Args) > 3 { // the role, and a flag with its value; a NATS server has more
		run = map[cluster.Role]func(context.Context, string) error{
			cluster.NATS: runNATS, cluster.Frontend: runFrontend, cluster.Master: runMaster, cluster.NodeMonitor: runNode,
		}[cluster.Role(os.Args[1])]
	}
	if run == nil {
		goleak.VerifyTestMain(m, natsservertest.LeftBehind())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := run(ctx, os.Args[3]); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runNATS(ctx context.Context, _ string) error {
	flags := pflag.NewFlagSet("nats", pflag.ContinueOnError)
	if err := errors.Join(config.Flags(flags, natsserver.Default()), flags.Parse(os.Args[2:])); err != nil {
		return err
	}
	o, _, err := config.Load(natsserver.Default(), config.Source{Flags: flags})
	if err != nil {
		return err
	}
	o.Log = slog.Default()
	server, err := natsserver.Start(o)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return server.Close()
}

func runFrontend(ctx context.Context, file string) error {
	c, err := load(file, frontend.Default())
	if err != nil {
		return err
	}
	f, err := frontend.New(c, slog.Default())
	if err != nil {
		return err
	}
	return f.Run(ctx)
}

func runMaster(ctx context.Context, file string) error {
	c, err := load(file, master.Default())
	if err != nil {
		return err
	}
	m, err := master.NewDaemon(c, master.Deps{Log: slog.Default()})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

func runNode(ctx context.Context, file string) error {
	c, err := load(file, nodemonitor.Default())
	if err != nil {
		return err
	}
	n, err := nodemonitor.New(c, nodemonitor.Deps{Log: slog.Default()})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	handOver := make(chan os.Signal, 1)
	signal.Notify(handOver, syscall.SIGUSR2)
	go func() {
		<-handOver
		n.PrepareRestart()
		end()
	}()
	return n.RunUntilDrained(ctx, nil)
}

func load[T any](file string, defaults T) (T, error) {
	c, _, err := config.Load(defaults, config.Source{File: file})
	return c, err
}
