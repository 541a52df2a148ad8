package daemons

import (
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/cobra"
)

// ConfigCommand is the verb config.
func ConfigCommand(roles []connect.Role) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: cli.GroupSelf,
		Short:   "Show where each setting comes from, check a file, write one",
		Long: `A setting is taken from the flag, else from the environment (PIGEON_*), else
from the YAML file, else it has its default. One definition yields all four: key
a.b_c is flag --a-b-c and variable PIGEON_A_B_C.`,
	}
	show := &cobra.Command{Use: "show", Short: "Show every setting of a role, its value and where it comes from"}
	check := &cobra.Command{Use: "check", Short: "Check the configuration files of a role"}
	write := &cobra.Command{Use: "write", Short: "Write a role's file, each setting with its default and a comment"}
	for _, r := range roles {
		show.AddCommand(configShow(r, roles))
		check.AddCommand(configCheck(r))
		write.AddCommand(configWrite(r))
	}
	cmd.AddCommand(show, check, write, configRoles(roles))
	return cmd
}

func configRoles(roles []connect.Role) *cobra.Command {
	return &cobra.Command{
		Use:     "roles",
		Short:   "List what has a configuration, one name a line",
		Example: "  pigeon config roles",
		Args:    cli.FlagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, r := range roles {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), r.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func configShow(r connect.Role, roles []connect.Role) *cobra.Command {
	cmd := &cobra.Command{
		Use:   r.Name,
		Short: "Show the settings of " + r.Name,
		Example: fmt.Sprintf(`  pigeon config show %[1]s
  pigeon config show %[1]s --config configs/%[1]s.yaml -o json`, r.Name),
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddConfigFlags(cmd, r.Flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		src, err := connect.ConfigSource(cmd, roles)
		if err != nil {
			return err
		}
		origins, err := r.Load(src)
		if err != nil {
			return cli.AsUsageError(err)
		}
		if err := printOrigins(cmd, *output, origins); err != nil || *output == cli.OutputJSON {
			return err
		}
		text, err := r.Survives(src)
		if err == nil && text != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", text)
		}
		return err
	}
	return cmd
}

func printOrigins(cmd *cobra.Command, output cli.OutputFormat, origins config.Origins) error {
	if output == cli.OutputJSON {
		return cli.WriteAllJSON(cmd.OutOrStdout(), origins)
	}
	w := cli.NewTable(cmd.OutOrStdout())
	fmt.Fprintln(w, "KEY\tVALUE\tFROM")
	for _, o := range origins {
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Key, o.Text, o.Place())
	}
	return w.Flush()
}

func configCheck(r connect.Role) *cobra.Command {
	return &cobra.Command{
		Use:     r.Name + " FILE...",
		Short:   "Check files of " + r.Name + "; flags and environment do not count",
		Example: fmt.Sprintf("  pigeon config check %[1]s configs/%[1]s.yaml", r.Name),
		Args:    cli.NamesAtLeastOne("file"),
		RunE: func(cmd *cobra.Command, files []string) error {
			var problems []error
			for _, file := range files {
				origins, err := r.Load(config.Source{File: file})
				if err != nil {
					problems = append(problems, err)
					continue
				}
				set := 0
				for _, o := range origins {
					if o.From == "file" {
						set++
					}
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: good, sets %d of %d keys of %s\n", file, set, len(origins), r.Name); err != nil {
					return errors.Join(append(problems, err)...)
				}
			}
			return cli.AsUsageError(errors.Join(problems...))
		},
	}
}

func configWrite(r connect.Role) *cobra.Command {
	cmd := &cobra.Command{
		Use:   r.Name,
		Short: "Write the commented file of " + r.Name + " to standard output",
		Long: `Writes the file of ` + r.Name + ` with the settings that most clusters choose, and those that differ
from their defaults, each with a comment; with --all every setting. The values are
those of the flags, else of the file that --config names, else the defaults; the environment
does not count. With --config of an earlier version it adds the settings that are new.`,
		Example: fmt.Sprintf(`  pigeon config write %[1]s > %[1]s.yaml
  pigeon config write %[1]s --all
  pigeon config write %[1]s --config old.yaml > %[1]s.yaml`, r.Name),
		Args: cli.FlagsOnly,
	}
	all := cmd.Flags().Bool("all", false, "every setting, not the common ones only")
	connect.AddConfigFlags(cmd, r.Flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		file, err := cmd.Flags().GetString("config")
		if err != nil {
			return err
		}
		return r.Write(cmd.OutOrStdout(), config.Source{File: file, Flags: cmd.Flags()}, *all)
	}
	return cmd
}
