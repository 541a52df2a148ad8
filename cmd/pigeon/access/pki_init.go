package access

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/spf13/cobra"
)

func pkiInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make an authority for a cluster",
		Long: `Makes a certificate authority in a folder of mode 0700: its certificate ca.pem, which is no
secret, its key ca.key, and crl.pem, the list of revoked certificates. Anyone who has ca.key can
impersonate every daemon and user of the cluster: keep the folder on one machine, and a backup of it.`,
		Example: "  pigeon pki init\n  pigeon pki init --dir pki --cluster prod",
		Args:    cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	dir := addAuthorityFlag(cmd)
	cluster := cmd.Flags().String("cluster", settings.DefaultSettings().Cluster, "name of the cluster, as the daemons' setting cluster has it")
	ttl := lifetime(authority.AuthorityLifetime)
	cmd.Flags().Var(&ttl, "ttl", "how long the authority is valid")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := authority.Init(*dir, *cluster, time.Duration(ttl), time.Now())
		if err != nil {
			return err
		}
		file := filepath.Join(a.Dir(), authority.CAFile)
		if *output == cli.OutputJSON {
			return cli.WriteAllJSON(cmd.OutOrStdout(), []CertificateLine{describe(a.Certificate(), file, nil)})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), `authority of the cluster %s until %s in %s

Next:
  pigeon pki issue --dir %s --role frontend --name frontend-0 --host HOST
  pigeon token create --user NAME --role user --file TOKENS
`, a.Cluster(), a.Certificate().NotAfter.Format(time.DateOnly), a.Dir(), text.Quote(a.Dir()))
		return err
	}
	return cmd
}
