package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is what this binary was made of.
type Version struct {
	Version  string `json:"version"`            // of the module, "(devel)" for a build from a clone
	Revision string `json:"revision,omitempty"` // commit
	Modified bool   `json:"modified"`           // whether the clone had changes beyond the commit
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`                 // version of Go
	Platform string `json:"platform"`           // operating system and architecture
}

// CurrentVersion returns what this program was built from.
func CurrentVersion() Version {
	v := Version{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		}
	}
	return v
}

func (v Version) String() string {
	s := "pigeon " + v.Version
	if v.Revision != "" {
		s += ", commit " + v.Revision
		if v.Modified {
			s += " with changes"
		}
	}
	return fmt.Sprintf("%s, %s, %s", s, v.Go, v.Platform)
}

// VersionCommand returns the verb that prints what the program was built from.
func VersionCommand(group string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		GroupID: group,
		Short:   "Show what this binary was built from",
		Example: "  pigeon version -o json",
		Args:    FlagsOnly,
	}
	output := AddOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := CurrentVersion()
		if *output == OutputJSON {
			return WriteJSON(cmd.OutOrStdout(), v)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
		return err
	}
	return cmd
}
