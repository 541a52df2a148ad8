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

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
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
	cli.Main(run)
}

// run is the whole program, so that tests start it in-process. It returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRoot(connect.Roles()), args, cli.Streams{In: stdin, Out: stdout, Err: stderr}, connect.HideFlags)
}
