// Command pigeon is Pigeon in one binary: the daemons, the commands that submit
// and watch jobs, and the simulator.
//
// Each verb is flags -> configuration -> New -> Run(ctx); what it runs lives in
// the package of its name. Exit status: 0 done, 1 the work failed, 2 wrong use,
// found before anything was started.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// register lets this program start itself as a guard and as a daemon. In a guard it does
// not return.
func register() {
	guard.Register()
	cluster.Register()
}

func main() {
	register()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks for a clean end; after it the default action is
	// back, so a second Ctrl-C ends a program that does not come to its end.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program, so that tests start it in-process. It returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRoot(roles()), args, cli.Streams{In: stdin, Out: stdout, Err: stderr}, hideConnection)
}
