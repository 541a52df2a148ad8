package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/bench/published"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// tracesVariable names the folder of the published traces.
const tracesVariable = "PIGEON_TRACES"

// addTracesFolder adds the flag of the folder in which traces are looked for and to which they are
// fetched.
func addTracesFolder(cmd *cobra.Command) func() string {
	dir := cmd.Flags().String("dir", "", "folder of the traces (default $"+tracesVariable+", else out/traces)")
	return func() string { return cmp.Or(*dir, os.Getenv(tracesVariable), filepath.Join("out", "traces")) }
}

// publishedTrace is a line of "trace list".
type publishedTrace struct {
	published.Trace
	File  string          `json:"file"`  // where it is, or would be fetched to
	State published.State `json:"state"` // absent, sound (the published bytes) or other (another content)
}

func traceList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the published traces: where each comes from, and whether it is here",
		Long: `Lists the published traces that the comparisons of this repository use, where each
comes from, whether the folder has it, byte for byte, and the generator that resembles it.`,
		Example: "  pigeon-bench trace list\n  pigeon-bench trace list --dir traces -o json",
		Args:    cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	dir := addTracesFolder(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var list []publishedTrace
		for _, t := range published.Traces() {
			state, err := t.In(dir())
			if err != nil {
				return fmt.Errorf("trace %s cannot be looked at: %w; name another folder by --dir", t.Name, err)
			}
			list = append(list, publishedTrace{t, t.File(dir()), state})
		}
		if *output == cli.OutputJSON {
			return cli.WriteAllJSON(cmd.OutOrStdout(), list)
		}
		w := cli.NewTable(cmd.OutOrStdout())
		fmt.Fprintln(w, "TRACE\tHERE\tRESEMBLED BY\tFROM")
		for _, t := range list {
			from := t.From
			if t.Repo != "" {
				from = fmt.Sprintf("github.com/%s, %s at %.12s", t.Repo, t.Path, t.Ref)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.State, t.Like, from)
		}
		return w.Flush()
	}
	return cmd
}

func traceFetch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fetch NAME...",
		Short: "Fetch published traces from their repository, checked by size and SHA-256",
		Long: `Fetches published traces at the commit at which they were seen, and keeps only what
has the known size and SHA-256. One that is there already is not fetched again. The network
is used as HTTPS_PROXY says; --from names a mirror.`,
		Example: "  pigeon-bench trace fetch ngo_50 ngo_70 ngo_90\n  pigeon-bench trace fetch nyh_70 --dir traces",
		Args:    cli.NamesAtLeastOne("published trace"),
	}
	dir := addTracesFolder(cmd)
	from := cmd.Flags().String("from", published.Source, "where files of GitHub's repositories are, OWNER/NAME/COMMIT/PATH below it")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		var traces []published.Trace
		for _, name := range names {
			t, err := published.Find(name)
			if err != nil {
				return cli.AsUsageError(err)
			}
			traces = append(traces, t)
		}
		var failed error
		for _, t := range traces {
			fetched, err := t.Fetch(cmd.Context(), *from, dir())
			switch {
			case err != nil:
				failed = errors.Join(failed, err)
			case fetched:
				fmt.Fprintf(cmd.OutOrStdout(), "%s: fetched, %d bytes, SHA-256 as published\n", t.File(dir()), t.Bytes)
			default:
				fmt.Fprintf(cmd.OutOrStdout(), "%s: there already, SHA-256 as published\n", t.File(dir()))
			}
		}
		return failed
	}
	return cmd
}
