package daemons

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/spf13/cobra"
)

func natsPermissionsCommand() *cobra.Command {
	var cluster string
	var nodes, frontends, masters []string
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "Print the users and permissions of a cluster for one's own NATS servers",
		Long: `Prints the part of a NATS server's configuration that admits the daemons of a cluster by their
certificates, each with the permissions of its role and name, as pigeon nats does by itself.
The server's tls section must have ca_file, verify: true and verify_and_map: true.`,
		Example: `  pigeon nats permissions --frontends f1,f2 --masters 0,1 --nodes n1,n2,n3 > users.conf`,
		Args:    cli.FlagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(nodes)+len(frontends)+len(masters) == 0 {
				return cli.AsUsageError(errors.New("there is nobody to admit; name --nodes, --frontends and --masters"))
			}
			users := append(named(identity.Frontend, frontends), append(named(identity.Master, masters), named(identity.Node, nodes)...)...)
			if err := checkAdmitted(cluster, users); err != nil {
				return cli.AsUsageError(err)
			}
			return writePermissions(cmd.OutOrStdout(), cluster, users)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&cluster, "cluster", "pigeon", "name of the cluster, as its certificates have it")
	fs.StringSliceVar(&nodes, "nodes", nil, "ids of the node monitors, with commas between them")
	fs.StringSliceVar(&frontends, "frontends", nil, "ids of the frontends")
	fs.StringSliceVar(&masters, "masters", nil, "groups of the masters")
	return cmd
}

func named(role identity.Role, names []string) (list []identity.Principal) {
	for _, n := range names {
		list = append(list, identity.Principal{Name: strings.TrimSpace(n), Role: role})
	}
	return list
}

// checkAdmitted returns why no cluster can have these daemons. One that is named twice was perhaps
// to be another, which would not be admitted then.
func checkAdmitted(cluster string, users []identity.Principal) error {
	if !settings.IsName(cluster) {
		return fmt.Errorf("the name of the cluster is %q; %s", cluster, settings.NameRule)
	}
	seen := map[identity.Principal]bool{}
	for _, u := range users {
		if u.Name == "" {
			return fmt.Errorf("a %s without a name was given", u.Role)
		}
		if fault := access.DaemonNameFault(u.Role, u.Name); fault != "" {
			return errors.New(fault)
		}
		if seen[u] {
			return fmt.Errorf("%s %s is given twice; name it once, or the one that was meant", u.Role, u.Name)
		}
		seen[u] = true
	}
	return nil
}

func writePermissions(out io.Writer, cluster string, users []identity.Principal) error {
	var b strings.Builder
	b.WriteString("authorization {\n  users = [\n")
	for _, u := range users {
		may, admitted := natsserver.PermissionsOf(cluster, u)
		if !admitted {
			return cli.AsUsageError(fmt.Errorf("a %s without a name was given", u.Role))
		}
		fmt.Fprintf(&b, "    {\n      user: %q\n      permissions: {\n        publish: [%s]\n        subscribe: [%s]\n      }\n    }\n",
			credentials.URI(cluster, u.Role, u.Name), quoted(may.Publish), quoted(may.Subscribe))
	}
	b.WriteString("  ]\n}\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func quoted(subjects []string) string {
	list := make([]string, len(subjects))
	for i, s := range subjects {
		list[i] = strconv.Quote(s)
	}
	return strings.Join(list, ", ")
}
