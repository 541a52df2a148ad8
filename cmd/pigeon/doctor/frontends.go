package doctor

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// clusterChecks asks the cluster of the settings, if they name one, and returns the checks of
// what it answered.
func clusterChecks(cmd *cobra.Command) ([]Check, error) {
	cfg, file, err := connect.LoadClient(cmd)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	if len(cfg.Frontend) == 0 {
		if _, err := rendezvous.Find(rendezvous.Path()); err != nil {
			return []Check{NoCluster(file, err.Error())}, nil
		}
	}
	c, err := connect.Open(cmd)
	if err != nil {
		return nil, err
	}
	found := &Cluster{}
	for _, f := range c.Frontends() {
		found.Frontends = append(found.Frontends, askFrontend(cmd.Context(), c, f))
	}
	if groups, err := c.Groups(cmd.Context()); err == nil { // else the findings report that
		found.Groups = groups
	}
	return ClusterChecks(found), errors.Join(cmd.Context().Err(), c.Close())
}

// askFrontend asks a frontend for its identity.
func askFrontend(ctx context.Context, c *connect.Cluster, f *client.Frontend) Frontend {
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	_, err := f.Identify(ctx)
	if c.IsStandby(err) {
		return Frontend{Address: f.Address, Standby: true}
	}
	return Frontend{Address: f.Address, Err: err}
}
