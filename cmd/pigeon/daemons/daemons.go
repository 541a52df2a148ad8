// Package daemons has the verbs that run the daemons (frontend, master, nodemonitor, nats), and config, which
// shows, checks and writes their settings.
package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// daemon is the interface that all daemons share.
type daemon interface {
	Ready() <-chan struct{}
	Run(ctx context.Context) error
}

// listening is a daemon that listens, and where.
type listening struct {
	daemon
	id        string
	addresses map[string]string // what for -> host:port
}

// Line is what a daemon prints when it serves.
type Line struct {
	Ready     bool              `json:"ready"`     // true
	Role      string            `json:"role"`      // frontend, master or nodemonitor
	ID        string            `json:"id"`        // its name
	Addresses map[string]string `json:"addresses"` // host:port by use
}

func (l *Line) print(w io.Writer, output cli.OutputFormat) error {
	if output == cli.OutputJSON {
		return cli.WriteJSON(w, l)
	}
	var uses []string
	for use, address := range l.Addresses {
		uses = append(uses, use+" "+address)
	}
	slices.Sort(uses)
	_, err := fmt.Fprintf(w, "%s %s is ready: %s\n", l.Role, l.ID, strings.Join(uses, ", "))
	return err
}

// daemonVerb makes the verb of a daemon.
type daemonVerb[C any] struct {
	name, short, long, example string
	defaults                   C
	open                       func(C, *slog.Logger) (listening, error)
	// runsTasks is set for the daemon whose umask is that of tasks; only their user may read the
	// files that the others make.
	runsTasks bool
	// again, if set, makes the daemon read the settings of owners again from a file.
	again func(d daemon, file string, load func() (C, error)) reloader
}

// reloader is a daemon that reads some of its settings again.
type reloader interface {
	// Reload requests another reading; it reports whether there is a file to read.
	Reload() bool
}

func (v daemonVerb[C]) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: v.name, GroupID: cli.GroupCluster, Short: v.short, Args: cli.FlagsOnly, Example: v.example,
		Long: v.long + `

Every setting is a flag, an environment variable and a key of the YAML file, in
this order of precedence; "pigeon config show ` + v.name + `" shows where each comes
from, and the common ones are below ("pigeon config write ` + v.name + ` --all": every one). It logs to standard error, prints one line when it serves, and ends cleanly
on SIGINT or SIGTERM.`,
	}
	output := cli.AddOutputFlag(cmd)
	newLog := AddLogFlags(cmd.Flags(), "info")
	connect.AddConfigFlags(cmd, func(fs *pflag.FlagSet) error { return config.Flags(fs, v.defaults) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, src, err := connect.LoadConfig(cmd, v.defaults)
		if err != nil {
			return err
		}
		log, err := newLog(cmd.ErrOrStderr())
		if err != nil {
			return cli.AsUsageError(err)
		}
		if !v.runsTasks {
			syscall.Umask(0o077)
		}
		manager := ownServiceManager(log)
		d, err := v.open(cfg, log)
		if err != nil {
			return fmt.Errorf("pigeon %s did not start: %w", v.name, err)
		}
		if v.again != nil {
			load := func() (C, error) { cfg, _, err := config.Load(v.defaults, src); return cfg, err }
			defer reloadOnHangup(v.again(d.daemon, src.File, load))()
		}
		ctx := cmd.Context()
		if r, restarts := d.daemon.(restarter); restarts {
			var stop context.CancelFunc
			ctx, stop = endForRestart(ctx, r)
			defer stop()
		}
		line := Line{Ready: true, Role: v.name, ID: d.id, Addresses: d.addresses}
		return serve(ctx, d, manager, func() error { return line.print(cmd.OutOrStdout(), *output) })
	}
	return cmd
}

// reloadOnHangup makes a daemon read settings again on SIGHUP, until the function that it
// returns is called. A daemon that has no file to read ends on SIGHUP, as programs do.
func reloadOnHangup(d reloader) (stop func()) {
	if !d.Reload() {
		return func() {}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			d.Reload()
		}
	}()
	return func() { signal.Stop(hangups); close(hangups) }
}

// restarter is a daemon that can leave its running attempts to its next process.
type restarter interface{ PrepareRestart() }

// endForRestart returns a context that ends on SIGUSR2, for which the daemon is prepared
// then.
func endForRestart(ctx context.Context, d restarter) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	go func() {
		select {
		case <-asked:
			d.PrepareRestart()
			end()
		case <-ctx.Done():
		}
		signal.Stop(asked)
	}()
	return ctx, end
}

// AddLogFlags adds the flags of a log to a verb and returns a function that opens the log.
func AddLogFlags(fs *pflag.FlagSet, level string) func(io.Writer) (*slog.Logger, error) {
	fs.StringVar(&level, "log-level", level, "least that is logged: debug, info, warn or error")
	format := fs.String("log-format", "text", "form of the log: text or json")
	return func(w io.Writer) (*slog.Logger, error) { return telemetry.NewLogger(w, level, *format) }
}

// LimitableLog returns a log that is limited to errors by a call of limit.
func LimitableLog(log *slog.Logger) (quiet *slog.Logger, limit func()) {
	h := &limitedHandler{Handler: log.Handler(), limited: new(atomic.Bool)}
	return slog.New(h), func() { h.limited.Store(true) }
}

type limitedHandler struct {
	slog.Handler
	limited *atomic.Bool
}

func (h *limitedHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return (l >= slog.LevelError || !h.limited.Load()) && h.Handler.Enabled(ctx, l)
}

func (h *limitedHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &limitedHandler{h.Handler.WithAttrs(a), h.limited}
}

func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.limited}
}

// serve runs a daemon until ctx ends, which is no error, prints when it is ready, and reports
// its state to the service manager.
func serve(ctx context.Context, d daemon, manager serviceManager, ready func() error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer manager.follow(ctx, d.Ready(), readyAtLatest)()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-d.Ready():
		if err := ready(); err != nil {
			stop()
			return errors.Join(err, <-ended)
		}
	case err := <-ended:
		return err
	}
	return <-ended
}

// FrontendCommand is the verb frontend.
func FrontendCommand() *cobra.Command {
	return daemonVerb[frontend.Config]{
		name: "frontend", short: "Run a frontend: it accepts jobs and distributes them over the groups",
		long: `Runs a frontend. It accepts jobs from applications, keeps what is owed and what
was accepted in its journal, and distributes tasks over the masters of all groups.`,
		example: `  pigeon frontend --masters 127.0.0.1:20502 --data /var/lib/pigeon/frontend-0
  pigeon frontend --config configs/frontend.yaml --log-level debug -o json`,
		defaults: frontend.Default(),
		open: func(c frontend.Config, log *slog.Logger) (listening, error) {
			f, err := frontend.New(c, log)
			if err != nil {
				return listening{}, err
			}
			return listening{f, c.ID, addresses("applications", f.Addr(), "daemons", f.InternalAddr(), "http", f.HTTP())}, nil
		},
		again: func(d daemon, file string, load func() (frontend.Config, error)) reloader {
			f := d.(*frontend.Frontend) //nolint:forcetypeassert // open made it
			f.ReadQuotasFrom(file, load)
			return f
		},
	}.command()
}

// MasterCommand is the verb master.
func MasterCommand() *cobra.Command {
	return daemonVerb[master.Config]{
		name: "master", short: "Run the master of a group: it queues tasks and hands them to idle workers",
		long: `Runs the master of one group. It keeps one queue per class and hands a task to a
worker as soon as one is idle. It keeps nothing on disk: after a restart its
nodes and frontends send it their state again. Policies other than Pigeon's have one master; under
sparrow, peacock and random it only publishes the membership of nodes and frontends.

With leadership: jetstream a group may have several masters. One of them leads; the
others are standbys, which take over when it has gone. A master that has lost the
leadership goes on as a standby.`,
		example: `  pigeon master --group 0 --listen 127.0.0.1:20502
  pigeon master --config configs/master.yaml --reserved 0.2 --weight 20
  pigeon master --policy hawk`,
		defaults: master.Default(),
		open: func(c master.Config, log *slog.Logger) (listening, error) {
			m, err := master.NewDaemon(c, master.Deps{Log: log})
			if err != nil {
				return listening{}, err
			}
			return listening{m, fmt.Sprintf("group-%d", c.Group), addresses("daemons", m.Addr(), "http", m.HTTP())}, nil
		},
		again: func(d daemon, file string, load func() (master.Config, error)) reloader {
			m := d.(*master.Daemon) //nolint:forcetypeassert // open made it
			m.ReadSharesFrom(file, load)
			return m
		},
	}.command()
}

// NodeMonitorCommand is the verb nodemonitor.
func NodeMonitorCommand() *cobra.Command {
	return daemonVerb[nodemonitor.Config]{
		name: "nodemonitor", short: "Run a node monitor: it owns the workers of its machine and runs tasks",
		long: `Runs the daemon of one machine. It offers slots, each a worker that runs one task at
a time, in a built-in backend (sleep, exec) or in processes of applications that
register with it. It is ready once its master has accepted it, and keeps trying
until then. On SIGTERM it takes nothing new and waits up to stop_wait for running tasks;
a second SIGTERM ends the wait. On SIGUSR2 it stops to be started again: what runs goes on, and the next
process takes it over (restart_grace).`,
		example: `  pigeon nodemonitor --id node-1 --slots 4 --master 127.0.0.1:20502
  pigeon nodemonitor --config configs/nodemonitor.yaml --listen 127.0.0.1:0`,
		defaults:  nodemonitor.Default(),
		runsTasks: true,
		open: func(c nodemonitor.Config, log *slog.Logger) (listening, error) {
			n, err := nodemonitor.New(c, nodemonitor.Deps{Log: log})
			if err != nil {
				return listening{}, err
			}
			a := n.Addrs()
			return listening{stoppable{n}, c.Named().ID, addresses("backends", a.Listen, "daemons", a.Internal, "http", a.HTTP)}, nil
		},
	}.command()
}

// addresses returns a map of the pairs whose value is not empty.
func addresses(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}
