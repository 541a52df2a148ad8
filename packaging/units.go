// Package packaging has the units of systemd, as the deb and rpm packages install them and
// 'pigeon cluster plan' does.
package packaging

import "embed"

//go:embed systemd/*.service
var units embed.FS

// Subgroup is the text of a drop-in of the node monitor's unit. Versions of systemd before 254 ignore it,
// with a warning.
//
//go:embed systemd-254/pigeon-node-subgroup.conf
var Subgroup string

// Program is where the units expect the program.
const Program = "/usr/bin/pigeon"

// Unit returns the text of a unit, "" for one that there is not.
func Unit(name string) string {
	text, err := units.ReadFile("systemd/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}
