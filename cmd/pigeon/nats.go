package main

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/spf13/cobra"
)

func natsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "nats",
		GroupID: groupCluster,
		Short:   "Run a small NATS server for the notices of a cluster",
		Long: `Runs a NATS server without persistence or clustering, enough for the notices of one
cluster. A cluster schedules without any, a little slower; one that has a NATS
server already names it in its daemons' settings instead.`,
		Example: "  pigeon nats\n  pigeon nats --listen 127.0.0.1:4333 -o json",
		Args:    cobra.NoArgs,
	}
	output := addOutput(cmd)
	listen := cmd.Flags().String("listen", "127.0.0.1:4222", "host:port to serve at; port 0 takes a free one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := notice.StartEmbedded(*listen)
		if err != nil {
			return err
		}
		line := readyLine{Ready: true, Role: "nats", ID: "nats", Addresses: addresses("nats", s.URL())}
		return serve(cmd.Context(), natsServer{s}, func() error { return line.print(cmd.OutOrStdout(), *output) })
	}
	return cmd
}

// natsServer is an embedded server as a daemon: it serves from its start on.
type natsServer struct{ *notice.Embedded }

func (natsServer) Ready() <-chan struct{} {
	ready := make(chan struct{})
	close(ready)
	return ready
}

func (s natsServer) Run(ctx context.Context) error {
	<-ctx.Done()
	return s.Close()
}
