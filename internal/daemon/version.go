package daemon

import (
	"runtime/debug"
	"strings"
)

// Version returns what this binary was built from, as a hello states it: the version of the
// module and the commit, as far as they are known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := []string{info.Main.Version}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version = append(version, s.Value[:min(12, len(s.Value))])
		}
	}
	return strings.Join(version, " ")
}
