package nodes

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// ForgottenNode is a node that is not shown any more.
type ForgottenNode struct {
	Node   string  `json:"node"`   // its name
	Groups []int32 `json:"groups"` // numbers of the groups that did show it
}

func nodeForgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget NODE...",
		Short: "Stop showing nodes that are lost or stopped",
		Long: `Stops showing nodes, or frontends, that are lost or stopped ('pigeon nodes'). It
changes nothing else: a node that returns is registered as any other. A node that is
registered is not forgotten; stop its node monitor first.`,
		Example: "  pigeon nodes forget n7\n  pigeon nodes forget n7 n8 -o json",
		Args:    cli.NamesAtLeastOne("node"),
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return connect.Order(cmd, func(c *connect.Cluster) (err error) {
			for _, name := range names {
				err = errors.Join(err, forgetNode(cmd, c, name, *output))
			}
			return err
		})
	}
	return cmd
}

func forgetNode(cmd *cobra.Command, c *connect.Cluster, name string, output cli.OutputFormat) error {
	groups, err := requestForget(cmd.Context(), c, name)
	if err != nil {
		return err
	}
	if output == cli.OutputJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), &ForgottenNode{Node: name, Groups: groups})
	}
	err = cli.PrintTo(cmd.OutOrStdout(), "%s is not shown any more\n", name)
	return err
}

// requestForget makes the first frontend that answers pass the request on; all frontends have
// the same masters.
func requestForget(ctx context.Context, c *connect.Cluster, name string) (groups []int32, err error) {
	err = c.Any(ctx, func(ctx context.Context, f *client.Frontend) (err error) {
		groups, err = f.ForgetNode(ctx, name)
		return err
	})
	return groups, err
}
