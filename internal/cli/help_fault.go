package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// keepHelpFault has the help of all verbs written in one piece, and returns where the error is when
// that fails: cobra drops it, and a full disk would have an empty page that seems to be all of it.
func keepHelpFault(root *cobra.Command, hide func(fs *pflag.FlagSet, hidden bool) bool) *error {
	var fault error
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var page bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&page)
		connects := hide != nil && hide(cmd.Flags(), true)
		show(cmd, args)
		if connects {
			hide(cmd.Flags(), false)
		}
		cmd.SetOut(out)
		text := strings.ReplaceAll(page.String(), "[=true|false]", strings.Repeat(" ", len("[=true|false]"))) // columns stay
		if connects {
			text = strings.TrimRight(text, "\n") + "\n\nFlags of the connection (--frontend, --timeout, --token-file, ...): pigeon help connection\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			fault = fmt.Errorf("output could not be written: %w", err)
		}
	})
	return &fault
}
