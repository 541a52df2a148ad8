package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
)

// keepHelpFault has the help of all verbs written in one piece, and returns where the error is when
// that fails: cobra drops it, and a full disk would have an empty page that seems to be all of it.
func keepHelpFault(root *cobra.Command) *error {
	var fault error
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var page bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&page)
		show(cmd, args)
		cmd.SetOut(out)
		if _, err := out.Write(page.Bytes()); err != nil {
			fault = fmt.Errorf("output could not be written: %w", err)
		}
	})
	return &fault
}
