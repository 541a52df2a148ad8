package access

import (
	"context"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/spf13/cobra"
)

// WhoamiLine is what "pigeon whoami -o json" prints for each frontend.
type WhoamiLine struct {
	Frontend  string  `json:"frontend"`   // host:port
	Name      string  `json:"name"`       // of the user, or of a daemon; empty when nothing is proven
	Role      string  `json:"role"`       // viewer, user, operator, admin, a daemon's, superuser; empty when nothing is proven
	Proof     string  `json:"proof"`      // kernel, token, certificate, listener, insecure, or empty
	ExpiresIn float64 `json:"expires_in"` // seconds until the token or certificate ends; 0: never
	By        string  `json:"by"`         // what this command offered as a proof
}

// WhoamiCommand is the verb whoami.
func WhoamiCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "whoami",
		GroupID: cli.GroupAccess,
		Short:   "Show your identity at each frontend",
		Long: `Asks each frontend how it identifies the caller: the user, the role and the proof. On
this machine the kernel says whose process calls; frontends on other machines are shown a token
(--token-file, PIGEON_TOKEN_FILE, ~/.config/pigeon/token) or a certificate (--tls-cert).
What each role may do is in docs/security.md.`,
		Example: "  pigeon whoami\n  pigeon whoami --frontend f0.example.org:20503 --tls-ca ca.pem --token-file token",
		Args:    cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return connect.Ask(cmd, func(c *connect.Cluster) error {
			return c.Each(cmd.Context(), func(f *client.Frontend) error {
				p, err := whoAmI(cmd.Context(), c, f)
				if err != nil {
					return err
				}
				return printPrincipal(cmd.OutOrStdout(), *output, f.Address, p, c.Proof)
			})
		})
	}
	return cmd
}

func whoAmI(ctx context.Context, c *connect.Cluster, f *client.Frontend) (identity.Principal, error) {
	call, cancel := c.WithTimeout(ctx)
	defer cancel()
	return f.WhoAmI(call)
}

func printPrincipal(out io.Writer, output cli.OutputFormat, frontend string, p identity.Principal, by string) error {
	line := WhoamiLine{Frontend: frontend, Name: p.Name, Role: string(p.Role), Proof: string(p.Proof), By: by}
	if !p.Expires.IsZero() {
		line.ExpiresIn = time.Until(p.Expires).Seconds()
	}
	if output == cli.OutputJSON {
		return cli.WriteJSON(out, &line)
	}
	text := p.String()
	if !p.Expires.IsZero() {
		text += ", for " + daysLeft(time.Until(p.Expires))
	}
	return cli.PrintTo(out, "%s: %s; proven by %s\n", frontend, text, provenBy(p.Proof, by))
}

// provenBy returns what a frontend took for the proof, given what this command offered: on this machine,
// a token or certificate that the frontend does not know changes nothing.
func provenBy(proof identity.Proof, offered string) string {
	switch {
	case proof == identity.Insecure:
		return "nothing: that frontend is insecure, and every caller may do everything there"
	case proof == identity.Kernel && offered != connect.ByKernel:
		return connect.ByKernel + "; " + offered + " proves nothing there"
	}
	return offered
}
