package main

import (
	"fmt"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		GroupID: cli.GroupSelf,
		Short:   "Write the manual pages of all verbs",
		Long: `Writes a manual page for each verb into a folder, which is made if it is missing. Packages
have them already.`,
		Example: `  pigeon man ~/.local/share/man/man1 && man pigeon-submit`,
		Args:    cli.NamesOne("folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManual(cmd.Root(), args[0], cli.CurrentVersion())
		},
	}
}

// writeManual writes a page for the root and each verb below it. The pages have the date of the
// commit, so that those of one commit are always the same.
func writeManual(root *cobra.Command, folder string, v cli.Version) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // all users may read manual pages
		return fmt.Errorf("the folder of the manual pages cannot be made: %w; name another one", err)
	}
	date, err := time.Parse(time.RFC3339, v.Time)
	if err != nil {
		date = time.Time{} // a build without a commit
	}
	root.InitDefaultCompletionCmd()
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "pigeon " + v.Version, Manual: "Pigeon"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		return fmt.Errorf("the manual pages cannot be written: %w", err)
	}
	return nil
}
