package access

import (
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

func pkiShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FILE|FOLDER]...",
		Short: "Show whom certificates are for, and when they end",
		Long: `Shows the certificate of the authority and all that it issued; or those of the files, and of
tls.crt in the folders. Which of them are revoked is known where the authority is.`,
		Example: "  pigeon pki show\n  pigeon pki show /etc/pigeon/tls -o json",
	}
	output := cli.AddOutputFlag(cmd)
	dir := addAuthorityFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		lines, err := shownCertificates(*dir, paths)
		if err != nil {
			return err
		}
		return printCertificates(cmd.OutOrStdout(), *output, lines)
	}
	return cmd
}

// shownCertificates returns the lines of the files, or of an authority.
func shownCertificates(dir string, paths []string) (lines []CertificateLine, err error) {
	a, err := authority.Open(dir)
	if err != nil && len(paths) == 0 {
		return nil, err
	}
	var revoked map[string]time.Time
	if a != nil {
		if revoked, err = a.Revoked(); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, authority.CertFile)
		}
		c, err := authority.ReadCertificate(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, describe(c, path, revoked))
	}
	if len(paths) > 0 {
		return lines, nil
	}
	lines = append(lines, describe(a.Certificate(), filepath.Join(a.Dir(), authority.CAFile), nil))
	issued, err := a.Certificates()
	for _, c := range issued {
		lines = append(lines, describe(c, "", revoked))
	}
	return lines, err
}
