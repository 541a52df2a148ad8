package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// Command is the verb cluster.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		GroupID: cli.GroupCluster,
		Short:   "Plan the cluster of a host inventory, for Ansible to install",
		Long: `Plans a cluster from a host inventory, a YAML file that names the hosts and the daemons that
each of them runs (docs/deploy.md): the files of each host, certificates, and an inventory of
Ansible. The role in deploy/ansible installs, upgrades and removes what is planned.`,
		Args: cli.FlagsOnly,
	}
	cmd.AddCommand(clusterPlan())
	return cmd
}

// makePlan reads an inventory, makes its plan and writes it into a folder (""; the default); it returns
// that folder, what changed there, and what an operator must know about hosts that the plan leaves out.
// Other commands may do the same meanwhile.
func makePlan(file, folder string) (p *Plan, written PlanLine, dropped []string, err error) {
	inv, err := hosts.Read(file)
	if err != nil {
		return nil, written, nil, cli.AsUsageError(err)
	}
	folder = cmp.Or(folder, filepath.Join(filepath.Dir(file), inv.Cluster+"-plan"))
	unlock, err := Lock(folder)
	if err != nil {
		return nil, written, nil, err
	}
	defer unlock()
	p, err = Make(inv, folder, time.Now())
	if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.Internal {
		return nil, written, nil, err // the disk is full, say: the inventory may be right
	}
	if err != nil {
		return nil, written, nil, cli.AsUsageError(err)
	}
	if err := p.KeepsReplicas(folder); err != nil {
		return nil, written, nil, cli.AsUsageError(err)
	}
	dropped = p.Dropped(folder)
	changed, err := p.Write(folder)
	return p, PlanLine{Cluster: inv.Cluster, Hosts: len(p.Hosts), Folder: folder, Changed: append([]string{}, changed...)}, dropped, err
}

func clusterPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan INVENTORY",
		Short: "Check a host inventory and write each host's files into a folder",
		Long: `Checks a host inventory and writes the files that its hosts must have into a folder: hosts/NAME
has those of a host below its root, ansible.yaml is the inventory for the role in deploy/ansible,
client.yaml how commands reach the cluster. With security: tls the folder authority has the
cluster's own authority, which issues a certificate for each daemon; certificates are kept
until a month before their end. The same inventory gives the same files. Nothing is sent to
the hosts.`,
		Example: "  pigeon cluster plan inventory.yaml\n  pigeon cluster plan inventory.yaml --out plan && git -C plan diff",
		Args:    cli.NamesOne("host inventory"),
	}
	output := cli.AddOutputFlag(cmd)
	out := cmd.Flags().String("out", "", "folder of the plan; it also has the authority, whose key nobody else must read (default CLUSTER-plan beside the inventory)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, result, dropped, err := makePlan(args[0], *out)
		for _, line := range dropped {
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
		if err != nil {
			return err
		}
		if *output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), result)
		}
		for _, path := range result.Changed {
			fmt.Fprintln(cmd.OutOrStdout(), path)
		}
		changed := "nothing changed"
		if n := len(result.Changed); n > 0 {
			changed = sched.Count(n, "file", "files") + " changed"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s in %s: %s\n", sched.Count(result.Hosts, "host", "hosts"), result.Folder, changed)
		return err
	}
	return cmd
}

// PlanLine is what 'pigeon cluster plan' prints.
type PlanLine struct {
	Cluster string   `json:"cluster"` // its name
	Hosts   int      `json:"hosts"`   // how many it has
	Folder  string   `json:"folder"`  // where the plan is
	Changed []string `json:"changed"` // files of the folder that were not so before
}
