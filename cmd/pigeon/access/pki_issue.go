package access

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/spf13/cobra"
)

func pkiIssueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "issue --role ROLE --name NAME",
		Short: "Make a key and a certificate",
		Long: `Makes a key and a certificate, and writes tls.crt, tls.key (mode 0600), ca.crt and a link
ca.crl to the list of what is revoked into a folder: the setting tls of a daemon. The roles are frontend,
master, node, nats, and for people viewer, user (client is the same), operator and admin. The
name of a frontend or node is its id, that of a master its group. Pigeon checks role and name,
not hosts; --host is for others who check it, as clients of NATS and web browsers do.`,
		Example: `  pigeon pki issue --role frontend --name frontend-0 --host f0.example.org --host 10.0.0.1
  pigeon pki issue --role master --name 0 --out /etc/pigeon/tls
  pigeon pki issue --role client --name alice --ttl 30d`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	dir := addAuthorityFlag(cmd)
	fs := cmd.Flags()
	role := fs.String("role", "", "what it is for: frontend, master, node, nats, viewer, user, operator or admin")
	name := fs.String("name", "", "id of the frontend or node, group of the master, user")
	hosts := fs.StringSlice("host", nil, "name or IP address by which others reach it; may be given several times")
	out := fs.String("out", "", "folder for the files (default DIR/ROLE-NAME)")
	var ttl lifetime
	fs.Var(&ttl, "ttl", "how long it is valid (default 365d, or as long as the authority)")
	for _, required := range []string{"role", "name"} {
		_ = cmd.MarkFlagRequired(required) // it fails only for a flag that does not exist
	}
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"frontend", "master", "node", "nats", "viewer", "user", "operator", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if fault := DaemonNameFault(identity.Role(*role), *name); *name != "" && fault != "" {
			return cli.AsUsageError(errors.New(fault))
		}
		a, err := authority.Open(*dir)
		if err != nil {
			return err
		}
		if *out == "" {
			*out = filepath.Join(a.Dir(), *role+"-"+*name)
		}
		if err := authority.Vacant(*out); err != nil {
			return err
		}
		i, err := a.Issue(authority.Request{Role: identity.Role(*role), Name: *name, Hosts: *hosts, Lifetime: time.Duration(ttl)}, time.Now())
		if err != nil {
			return err
		}
		if err := i.Write(*out); err != nil {
			return err
		}
		if *output == cli.OutputJSON {
			return cli.WriteAllJSON(cmd.OutOrStdout(), []CertificateLine{describe(i.Certificate, filepath.Join(*out, authority.CertFile), nil)})
		}
		return printIssued(cmd.OutOrStdout(), i, *out)
	}
	return cmd
}

// printIssued prints the setting for the subject of an issued certificate.
func printIssued(out io.Writer, i *authority.Issued, dir string) error {
	s, _ := authority.SubjectOf(i.Certificate)
	fmt.Fprintf(out, "certificate of %s until %s in %s\n\n", s, i.Certificate.NotAfter.Format(time.DateOnly), dir)
	if s.Role.IsPerson() {
		at := func(name string) string { return connect.Absolute(filepath.Join(dir, name)) }
		_, err := fmt.Fprintf(out, "tls_ca: %s\ntls_cert: %s\ntls_key: %s\n", at(authority.TrustFile), at(authority.CertFile), at(authority.KeyFile))
		return err
	}
	fmt.Fprintf(out, "tls: %s\n", connect.Absolute(dir))
	if s.Role == authority.NATS && len(i.Certificate.DNSNames)+len(i.Certificate.IPAddresses) == 0 {
		fmt.Fprintln(out, "\nIt names no host: neither daemons nor other servers connect to a NATS server with it. Issue another one with\n--host for each name or address at which they reach it.")
	}
	_, err := fmt.Fprintln(out, "\nOn another machine it is the folder there; copy crl.pem to its ca.crl, now and after each 'pigeon pki revoke'.")
	return err
}
