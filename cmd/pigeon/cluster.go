package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		GroupID: cli.GroupCluster,
		Short:   "Install a cluster on hosts over ssh, show, upgrade and remove it",
		Long: `Installs a cluster on the hosts of a host inventory, a YAML file that names them and the
daemons that each of them runs (docs/deploy.md). 'plan' checks it and writes each host's
files into a folder; 'apply' brings them to the hosts over ssh and starts the daemons.

ssh is the program of that name: a user's own ~/.ssh/config, agent and known_hosts hold. What
is done stays done: a command that failed on some hosts is repeated.`,
		Args: cli.FlagsOnly,
	}
	cmd.AddCommand(clusterPlan(), clusterApply(), clusterUpgrade(), clusterStatus(), clusterRemove(), clusterReady(), clusterAnswer())
	return cmd
}

// planFlags are those of every verb that makes a plan.
type planFlags struct {
	out      string
	program  string
	parallel int
	only     []string // hosts; empty: all
	output   *cli.OutputFormat
	say      func(line string)
}

func addPlanFlags(cmd *cobra.Command) *planFlags {
	f := &planFlags{output: cli.AddOutputFlag(cmd)}
	f.say = func(line string) { sayTo(cmd.ErrOrStderr())(line) } // the command has its streams when it runs
	cmd.Flags().StringVar(&f.out, "out", "", "folder of the plan; it also has the authority, whose key nobody else must read (default CLUSTER-plan beside the inventory)")
	return f
}

// addHostFlags adds the flags of the verbs that work on hosts.
func (f *planFlags) addHostFlags(cmd *cobra.Command) *planFlags {
	cmd.Flags().StringVar(&f.program, "program", "", "the program to run on the hosts (default: this one)")
	cmd.Flags().IntVar(&f.parallel, "parallel", 10, "hosts at a time")
	return f
}

// plan reads an inventory, makes its plan and writes it. Other commands may do the same meanwhile, such
// as one that shows the state of the cluster again and again.
func (f *planFlags) plan(file string) (*clusters.Plan, []string, error) {
	inv, err := hosts.Read(file)
	if err != nil {
		return nil, nil, cli.AsUsageError(err)
	}
	f.out = cmp.Or(f.out, filepath.Join(filepath.Dir(file), inv.Cluster+"-plan"))
	unlock, err := clusters.Lock(f.out)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	p, err := clusters.Make(inv, f.out, time.Now())
	if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.Internal {
		return nil, nil, err // the disk is full, say: the inventory may be right
	}
	if err != nil {
		return nil, nil, cli.AsUsageError(err)
	}
	if err := p.KeepsReplicas(f.out); err != nil {
		return nil, nil, cli.AsUsageError(err)
	}
	former := p.Former(f.out)
	changed, err := p.Write(f.out)
	for _, line := range former {
		f.say(line)
	}
	return p, changed, err
}

// open makes the plan and prepares to work on its hosts.
func (f *planFlags) open(cmd *cobra.Command, file string) (*clusters.Cluster, error) {
	if f.parallel < 1 {
		return nil, cli.AsUsageError(fmt.Errorf("--parallel is %d; use 1 or more", f.parallel))
	}
	p, _, err := f.plan(file)
	if err != nil {
		return nil, err
	}
	if len(f.only) > 0 {
		if p, err = p.Only(f.only); err != nil {
			return nil, cli.AsUsageError(err)
		}
	}
	if f.program == "" {
		if f.program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("this program cannot be found: %w; name one with --program", err)
		}
	}
	program, err := clusters.OpenProgram(cmd.Context(), f.program)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	return clusters.Open(p, clusters.Options{Program: program, Parallel: f.parallel, Say: sayTo(cmd.ErrOrStderr())})
}

// sayTo returns what prints lines from any goroutine.
func sayTo(out io.Writer) func(string) {
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, line)
	}
}

func clusterPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan INVENTORY",
		Short: "Check a host inventory and write each host's files into a folder",
		Long: `Checks a host inventory and writes the files that its hosts must have into a folder: hosts/NAME
has those of a host below its root, client.yaml how commands reach the cluster. With
security: tls the folder authority has the cluster's own authority, which issues a certificate
for each daemon; certificates are kept until a month before their end. The same inventory
gives the same files. Nothing is sent to the hosts.`,
		Example: "  pigeon cluster plan inventory.yaml\n  pigeon cluster plan inventory.yaml --out plan && git -C plan diff",
		Args:    cli.NamesOne("host inventory"),
	}
	f := addPlanFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, changed, err := f.plan(args[0])
		if err != nil {
			return err
		}
		result := plannedCluster{Cluster: p.Inventory.Cluster, Hosts: len(p.Hosts), Folder: f.out, Changed: append([]string{}, changed...)}
		if *f.output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), result)
		}
		for _, path := range changed {
			fmt.Fprintln(cmd.OutOrStdout(), path)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s in %s: %s\n", sched.Count(result.Hosts, "host", "hosts"), f.out, changes(len(changed), "file"))
		return err
	}
	return cmd
}

// plannedCluster is what 'pigeon cluster plan' prints.
type plannedCluster struct {
	Cluster string   `json:"cluster"` // its name
	Hosts   int      `json:"hosts"`   // how many it has
	Folder  string   `json:"folder"`  // where the plan is
	Changed []string `json:"changed"` // files of the folder that were not so before
}

func changes(n int, of string) string {
	switch n {
	case 0:
		return "nothing changed"
	case 1:
		return "1 " + of + " changed"
	}
	return fmt.Sprintf("%d %ss changed", n, of)
}

// hostsVerb makes a verb that works on the hosts of an inventory.
func hostsVerb(use, short, long, example string, work func(ctx context.Context, c *clusters.Cluster) error) *cobra.Command {
	cmd := &cobra.Command{Use: use + " INVENTORY", Short: short, Long: long, Example: example, Args: cli.NamesOne("host inventory")}
	f := addPlanFlags(cmd).addHostFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if list := cmd.Flags().Lookup(hostFlag); list != nil { // of the verbs that have it
			f.only = list.Value.(pflag.SliceValue).GetSlice()
		}
		c, err := f.open(cmd, args[0])
		if err != nil {
			return err
		}
		began := time.Now()
		err = work(cmd.Context(), c)
		results := c.Results()
		err = errors.Join(err, c.Close())
		if err != nil && cmd.Context().Err() != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "interrupted; what is done stays done, and the same command goes on from there")
			err = cli.SilentError{Code: cli.ExitInterrupted}
		}
		if *f.output == cli.OutputJSON {
			return errors.Join(err, cli.WriteAllJSON(cmd.OutOrStdout(), results))
		}
		return errors.Join(err, printHosts(cmd.OutOrStdout(), results, time.Since(began)))
	}
	return cmd
}

func clusterApply() *cobra.Command {
	return hostsVerb("apply", "Make the hosts of an inventory match its plan",
		`Makes the plan, compares each host with it, sends what differs (the program, files), and
starts or restarts the daemons that it concerns: those that do not run at once, those that run
one after another, each until it is ready. A second run changes nothing and reports this. A host
that cannot be reached or is refused does not stop the others, but a daemon that does not become
ready after a restart ends the restarts: nothing more is started or restarted. Both are reported,
with exit status 1; the same command continues from there. A host with another installation of
Pigeon, of another cluster or of a package, is refused and left as it is. To have another program
on hosts that run one, use 'pigeon cluster upgrade'.`,
		"  pigeon cluster apply inventory.yaml\n  pigeon cluster apply inventory.yaml --parallel 50 -o json",
		func(ctx context.Context, c *clusters.Cluster) error { return c.Apply(ctx) })
}

func clusterUpgrade() *cobra.Command {
	return hostsVerb("upgrade", "Have the hosts of an inventory run another program, without losing what runs",
		`Copies the program to all hosts, then restarts the daemons one after another in the order of
docs/operations.md: NATS servers, masters (standbys before the leader), frontends, and node
monitors, which leave what runs to their next process. Each must be ready before the next one
is restarted; if one does not become ready, the upgrade stops, and the same command continues
from there. When a host runs a version that the new one cannot work alongside, or is refused for
another reason, no host is changed. One that cannot be reached is reported, and does not stop the
others.`,
		"  pigeon cluster upgrade inventory.yaml --program ./pigeon-1.3",
		func(ctx context.Context, c *clusters.Cluster) error { return c.Upgrade(ctx) })
}

func clusterStatus() *cobra.Command {
	return hostsVerb("status", "Show what the hosts of an inventory run, and what differs from its plan",
		`Looks at each host and changes nothing: whether its files and its program are as planned, which
of its daemons run and serve. The exit status is 1 when a host cannot be looked at.`,
		"  pigeon cluster status inventory.yaml\n  pigeon cluster status inventory.yaml -o json",
		func(ctx context.Context, c *clusters.Cluster) error { return c.Status(ctx) })
}

// hostFlag restricts a verb to some hosts of the inventory.
const hostFlag = "host"

func clusterRemove() *cobra.Command {
	var yes, keep bool
	cmd := hostsVerb("remove", "Stop the daemons of all hosts and remove everything that was put there",
		`Stops the daemons, nodes first, and removes their settings, certificates, program, logs, and
their data: journals, streams, outputs of tasks. Nothing is left of them. A host that belongs to
another cluster, or has an installation that 'pigeon cluster' did not make, is refused; one that
has nothing is left as it is. The plan's folder stays. With --host only the named hosts leave the
cluster: delete their entries from the inventory then, and apply it.`,
		"  pigeon cluster remove inventory.yaml --yes\n  pigeon cluster remove inventory.yaml --host w03,w04 --yes",
		func(ctx context.Context, c *clusters.Cluster) error { return c.Remove(ctx, keep) })
	cmd.Flags().BoolVar(&yes, "yes", false, "remove, with all jobs that are not done")
	cmd.Flags().StringSlice(hostFlag, nil, "only these hosts of the inventory")
	cmd.Flags().BoolVar(&keep, "keep-data", false, "keep /var/lib/pigeon: journals, streams, outputs")
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			return cli.AsUsageError(errors.New("this removes all jobs, journals and outputs of the cluster from its hosts; say --yes to do it, and --keep-data to keep /var/lib/pigeon"))
		}
		return work(cmd, args)
	}
	return cmd
}

// clusterReady is run on the hosts by the other verbs.
func clusterReady() *cobra.Command {
	cmd := &cobra.Command{Use: "ready URL", Short: "Wait until a daemon of this host serves", Args: cobra.ExactArgs(1), Hidden: true,
		Example: "  pigeon cluster ready --wait 10s http://127.0.0.1:20513/readyz"}
	wait := cmd.Flags().Duration("wait", 0, "how long to wait")
	metric := cmd.Flags().String("metric", "", "print this metric of a page instead")
	process := cmd.Flags().Bool("process", false, "print the number of the process that serves it instead, if it tells")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var value string
		var err error
		switch {
		case *process:
			value, err = clusters.Process(cmd.Context(), args[0])
		case *metric != "":
			value, err = clusters.Metric(cmd.Context(), args[0], *metric)
		default:
			return clusters.AwaitReady(cmd.Context(), args[0], *wait)
		}
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), value)
		}
		return err
	}
	return cmd
}

// clusterAnswer is run on the hosts during a replay.
func clusterAnswer() *cobra.Command {
	return &cobra.Command{
		Use: "answer FOLDER NAME=HOST:PORT...", Short: "Answer questions about the clock and the daemons of this host", Args: cobra.MinimumNArgs(1), Hidden: true,
		Example: "  echo daemons | pigeon cluster answer /run/pigeon master=127.0.0.1:20512",
		RunE: func(cmd *cobra.Command, args []string) error {
			return clusters.Answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), args[0], args[1:])
		},
	}
}

// printHosts prints the hosts, those that failed below with why.
func printHosts(out io.Writer, results []clusters.HostResult, took time.Duration) error {
	w := cli.NewTable(out)
	fmt.Fprintln(w, "HOST\tSTATE\tDAEMONS\tCHANGES")
	count := map[string]int{}
	var order []string
	for i := range results {
		r := &results[i]
		if count[r.State]++; count[r.State] == 1 {
			order = append(order, r.State)
		}
		var daemons []string
		for _, d := range r.Daemons {
			daemons = append(daemons, d.Role+" "+stateOfDaemon(d))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Host, r.State, cmp.Or(strings.Join(daemons, ", "), "-"), cmp.Or(strings.Join(r.Changes, ", "), "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var parts []string
	for _, state := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
	}
	_, err := fmt.Fprintf(out, "%s in %.1f s: %s\n", sched.Count(len(results), "host", "hosts"), took.Seconds(), strings.Join(parts, ", "))
	return err
}

func stateOfDaemon(d clusters.ServiceResult) string {
	switch {
	case d.Ready:
		return "serves"
	case d.Running:
		return "runs and does not serve"
	}
	return "does not run"
}
