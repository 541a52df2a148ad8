package access

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

func pkiRenewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "renew [FOLDER]...",
		Short: "Replace certificates before they end",
		Long: `Replaces the tls.crt of folders, and of folders in them, by one that begins now, for the same
name, hosts and key, if it ends within --within. Without a folder, those in the folder of the
authority. Each is replaced at once, and daemons read it without a restart. A certificate that
cannot be renewed does not stop the others; the exit status is 1 then.`,
		Example: "  pigeon pki renew\n  pigeon pki renew --within 30d /etc/pigeon/tls\n  pigeon pki renew --within 100000d pki/node-n1          now",
	}
	output := cli.AddOutputFlag(cmd)
	dir := addAuthorityFlag(cmd)
	within, ttl := lifetime(renewWithin), lifetime(0)
	cmd.Flags().Var(&within, "within", "renew those that end within this time")
	cmd.Flags().Var(&ttl, "ttl", "how long the new ones are valid (default: as long as the old ones were)")
	cmd.RunE = func(cmd *cobra.Command, folders []string) error {
		a, err := authority.Open(*dir)
		if err != nil {
			return err
		}
		if len(folders) == 0 {
			folders = []string{a.Dir()}
		}
		found, err := certificateFolders(folders)
		if err != nil {
			return err
		}
		var renewed []CertificateLine
		var problems []error
		for _, folder := range found {
			line, due, err := renewOne(a, folder, time.Duration(within), time.Duration(ttl))
			if problems = append(problems, err); err == nil && due {
				renewed = append(renewed, line)
			}
		}
		err = errors.Join(problems...)
		if *output == cli.OutputJSON {
			return errors.Join(err, cli.WriteAllJSON(cmd.OutOrStdout(), renewed))
		}
		switch {
		case len(renewed) == 0 && err == nil:
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "none of %d certificates ends within %s; nothing was renewed\n", len(found), &within)
			return err
		case len(renewed) == 0:
			return err
		}
		return errors.Join(err, printCertificates(cmd.OutOrStdout(), *output, renewed))
	}
	return cmd
}

// renewWithin is how long before its end a certificate is renewed.
const renewWithin = 30 * 24 * time.Hour

// renewOne renews the certificate in a folder if it ends soon.
func renewOne(a *authority.Authority, folder string, within, ttl time.Duration) (line CertificateLine, due bool, err error) {
	now := time.Now()
	path := filepath.Join(folder, authority.CertFile)
	c, err := authority.ReadCertificate(path)
	if err != nil || !authority.EndsWithin(c, within, now) {
		return line, false, err
	}
	if last := a.Certificate(); !last.NotAfter.After(c.NotAfter) && authority.EndsWithin(last, min(within, renewWithin), now) {
		return line, true, &api.Error{
			Problem: api.Invalid, What: "it ends with its authority, on " + last.NotAfter.Format(time.DateOnly), Subject: path, Tried: "renewing it",
			Next: "replace the authority: docs/security.md has the steps",
		}
	}
	if c, err = a.Renew(folder, ttl, now); err != nil {
		return line, true, err
	}
	return describe(c, path, nil), true, nil
}

// Bounds of the search for certificates.
const (
	searchDepth = 4
	searchMost  = 100_000 // files and folders
)

// certificateFolders returns the folders with a tls.crt: those named, and those in them.
func certificateFolders(folders []string) (found []string, err error) {
	seen := 0
	for _, root := range folders {
		before := len(found)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			seen++
			switch {
			case err != nil:
				return err
			case seen > searchMost:
				return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it has more than the limit of %d files and folders", searchMost), Subject: root, Tried: "looking for certificates", Next: "name folders further down"}
			case d.IsDir() && strings.Count(strings.TrimPrefix(path, root), string(filepath.Separator)) > searchDepth:
				return fs.SkipDir
			case !d.IsDir() && d.Name() == authority.CertFile:
				found = append(found, filepath.Dir(path))
			}
			return nil
		})
		if err == nil && len(found) == before {
			err = &api.Error{Problem: api.NotFound, What: "there is no " + authority.CertFile, Subject: root, Tried: "looking for certificates in it and in folders below it", Next: "name the folder that 'pigeon pki issue' wrote"}
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
