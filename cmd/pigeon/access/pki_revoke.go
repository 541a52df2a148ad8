package access

import (
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/spf13/cobra"
)

func pkiRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke [SERIAL]...",
		Short: "Revoke certificates",
		Long: `Puts certificates on the list crl.pem in the folder of the authority: those with the serial
numbers, and all of a role and name. Daemons whose tls_crl names the file read it again when it
changes, and refuse them from then on, on open connections too; on other machines it counts
once it is copied there. A revoked certificate cannot be renewed; issue another one.`,
		Example: "  pigeon pki revoke --role node --name n1\n  pigeon pki revoke 5b1f0c5fe2",
	}
	output := cli.AddOutputFlag(cmd)
	dir := addAuthorityFlag(cmd)
	role, name := new(string), new(string)
	const next = "give one role and one name, and repeat the command for others"
	connect.AddOnceText(cmd.Flags(), role, "role", next, "revoke all of this role and of --name")
	connect.AddOnceText(cmd.Flags(), name, "name", next, "revoke all of this name and of --role")
	cmd.MarkFlagsRequiredTogether("role", "name")
	cmd.RunE = func(cmd *cobra.Command, serials []string) error {
		if len(serials) == 0 && *role == "" {
			return cli.AsUsageError(errors.New("neither a serial number nor --role and --name are given; 'pigeon pki show' lists the certificates"))
		}
		a, err := authority.Open(*dir)
		if err != nil {
			return err
		}
		chosen, err := a.Revoke(func(all []*x509.Certificate) ([]*x509.Certificate, error) {
			return choose(a, all, serials, identity.Role(*role), *name)
		}, time.Now())
		if err != nil {
			return err
		}
		revoked, err := a.Revoked()
		if err != nil {
			return err
		}
		var lines []CertificateLine
		for _, c := range chosen {
			lines = append(lines, describe(c, "", revoked))
		}
		if err := printCertificates(cmd.OutOrStdout(), *output, lines); err != nil || *output == cli.OutputJSON {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nThe list is %s; it counts where it, or a copy, is ca.crl in the folder tls of a daemon.\n", filepath.Join(a.Dir(), authority.CRLFile))
		return err
	}
	return cmd
}

// choose returns, of all certificates of an authority, those with the serial numbers, and those of
// the role and name that have not ended.
func choose(a *authority.Authority, all []*x509.Certificate, serials []string, role identity.Role, name string) ([]*x509.Certificate, error) {
	if role == authority.Client {
		role = identity.User
	}
	var chosen []*x509.Certificate
	for _, serial := range serials {
		i := slices.IndexFunc(all, func(c *x509.Certificate) bool { return authority.Serial(c) == strings.ToLower(serial) })
		if i < 0 {
			return nil, notIssued(a, fmt.Sprintf("certificate %.80q", serial))
		}
		chosen = append(chosen, all[i])
	}
	if role == identity.Nobody {
		return chosen, nil
	}
	before := len(chosen)
	for _, c := range all {
		if s, _ := authority.SubjectOf(c); s.Role == role && s.Name == name && time.Now().Before(c.NotAfter) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == before {
		return nil, notIssued(a, fmt.Sprintf("%s %s", role, name))
	}
	return chosen, nil
}

func notIssued(a *authority.Authority, subject string) error {
	return &api.Error{
		Problem: api.NotFound, What: "this authority has issued no such certificate that is still valid", Subject: subject, Tried: "looking through the copies in " + a.Dir() + "; nothing was changed",
		Next: "'pigeon pki show' lists them; --dir names another authority",
	}
}
