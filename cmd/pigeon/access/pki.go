// Package access has the verbs about who may call: pki, token, whoami.
package access

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// PKICommand is the verb pki.
func PKICommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pki",
		GroupID: cli.GroupAccess,
		Short:   "Make a private certificate authority, and certificates of daemons",
		Long: `Makes a private certificate authority in a folder, and the certificates by which the
daemons of a cluster prove to each other who they are. Certificates of your own authority do
as well: they name whom they are for by the URI pigeon://CLUSTER/ROLE/NAME, or by the subject
O=CLUSTER, OU=ROLE, CN=NAME. The name of a frontend or a node is its id, that of a master its
group. Daemons read their certificates, and the list of revoked ones, again when they change.`,
		Args: cli.FlagsOnly,
	}
	cmd.AddCommand(pkiInitCommand(), pkiIssueCommand(), pkiRenewCommand(), pkiRevokeCommand(), pkiShowCommand())
	return cmd
}

// addAuthorityFlag adds --dir, the folder of the authority.
func addAuthorityFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("dir", "pki", "folder of the authority")
}

// CertificateLine is what the verbs of "pigeon pki" print of a certificate with -o json.
type CertificateLine struct {
	Role        string   `json:"role"`        // what it is for; authority for that of an authority
	Name        string   `json:"name"`        // of the daemon or the person
	Cluster     string   `json:"cluster"`     // the cluster it is for
	Serial      string   `json:"serial"`      // serial number, hexadecimal
	State       string   `json:"state"`       // good, expired or revoked
	Begins      float64  `json:"begins"`      // Unix seconds
	Ends        float64  `json:"ends"`        // Unix seconds
	Hosts       []string `json:"hosts"`       // names and addresses in it
	Fingerprint string   `json:"fingerprint"` // SHA-256 of the certificate, hexadecimal
	File        string   `json:"file"`        // where it is, empty for a copy that the authority keeps
}

// describe returns the line of a certificate.
func describe(c *x509.Certificate, file string, revoked map[string]time.Time) CertificateLine {
	sum := sha256.Sum256(c.Raw)
	l := CertificateLine{
		Role: "authority", Serial: authority.Serial(c), State: "good", Hosts: []string{}, Fingerprint: hex.EncodeToString(sum[:]), File: file,
		Begins: float64(c.NotBefore.Unix()), Ends: float64(c.NotAfter.Unix()), Name: c.Subject.CommonName, Cluster: strings.Join(c.Subject.Organization, ","),
	}
	if s, ok := authority.SubjectOf(c); ok {
		l.Role, l.Name, l.Cluster = string(s.Role), s.Name, s.Cluster
	} else if !c.IsCA {
		l.Role = strings.Join(c.Subject.OrganizationalUnit, ",")
	}
	l.Hosts = append(l.Hosts, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		l.Hosts = append(l.Hosts, ip.String())
	}
	if _, is := revoked[l.Serial]; is {
		l.State = "revoked"
	} else if time.Now().After(c.NotAfter) {
		l.State = "expired"
	}
	return l
}

// printCertificates prints lines as a table, or as JSON.
func printCertificates(out io.Writer, output cli.OutputFormat, lines []CertificateLine) error {
	if output == cli.OutputJSON {
		return cli.WriteAllJSON(out, lines)
	}
	w := cli.NewTable(out)
	fmt.Fprintln(w, "ROLE\tNAME\tSTATE\tENDS\tLEFT\tHOSTS\tSERIAL\tFINGERPRINT")
	for i := range lines {
		l := &lines[i]
		ends := time.Unix(int64(l.Ends), 0)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Role, l.Name, l.State, ends.Format(time.DateOnly), daysLeft(time.Until(ends)),
			orDash(strings.Join(l.Hosts, ",")), l.Serial, l.Fingerprint)
	}
	return w.Flush()
}

// daysLeft shows how long something lasts.
func daysLeft(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < 48*time.Hour:
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
