package daemons

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/spf13/cobra"
)

// NATSCommand is the verb nats.
func NATSCommand() *cobra.Command {
	cmd := daemonVerb[natsserver.Options]{
		name: "nats", short: "Run a NATS server for the notices of a cluster, or one of three that keep what must survive a machine",
		long: `Runs a NATS server. Without flags it only passes notices on and keeps nothing, which is
enough for a cluster without standbys; a cluster schedules without any, a little slower.
With --jetstream it also keeps leaderships and replicated journals, and three of them in a
cluster survive the loss of one machine. If you have NATS servers (2.11 or newer), name them
in the daemons' settings instead.

It admits processes of its own user and of root on loopback; with tls the daemons whose
certificates that authority has signed, each with the permissions of its role and name;
with secret_file any process that presents the secret.`,
		example: `  pigeon nats
  pigeon nats --listen 127.0.0.1:4333 -o json
  pigeon nats --name n1 --listen 10.0.0.1:4222 --jetstream --store-dir /var/lib/pigeon/nats --cluster-name pigeon --cluster-listen 10.0.0.1:6222 --routes 10.0.0.1:6222,10.0.0.2:6222,10.0.0.3:6222 --tls n1
  pigeon nats permissions --frontends f1 --masters 0 --nodes n1,n2     users for your own servers`,
		defaults: natsserver.Default(),
		open: func(o natsserver.Options, log *slog.Logger) (listening, error) {
			o.Log = log
			s, err := natsserver.Start(o)
			if err != nil {
				return listening{}, err
			}
			return listening{natsServer{s}, cmp.Or(o.Name, "nats"), addresses("nats", s.URL(), "cluster", s.ClusterURL(), "monitor", s.MonitorURL())}, nil
		},
	}.command()
	cmd.AddCommand(natsPermissionsCommand())
	return cmd
}

// natsServer is a NATS server as a daemon: it serves from its start on.
type natsServer struct{ *natsserver.Server }

func (natsServer) Ready() <-chan struct{} {
	ready := make(chan struct{})
	close(ready)
	return ready
}

func (s natsServer) Run(ctx context.Context) error {
	<-ctx.Done()
	return s.Close()
}
