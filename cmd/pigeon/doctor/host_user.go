package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// unitFolders are where systemd looks for a unit, the last one first.
var unitFolders = []string{"/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"}

// userOf returns the user as whom a daemon with a file of settings runs, as its unit or a drop-in
// says: "" for root, and where there is no unit.
func (h *Host) userOf(settings string) (user string) {
	unit := unitOf(settings)
	template, _, _ := strings.Cut(unit, "@")
	if template != unit {
		template += "@.service"
	}
	for _, folder := range unitFolders {
		for _, name := range slices.Compact([]string{template, unit}) {
			path := h.path(filepath.Join(folder, name))
			dropIns, _ := filepath.Glob(path + ".d/*.conf") // it fails for malformed patterns only
			for _, file := range append([]string{path}, dropIns...) {
				text, err := os.ReadFile(file)
				if err != nil {
					continue // the host has none
				}
				for line := range strings.Lines(string(text)) {
					if value, found := strings.CutPrefix(strings.TrimSpace(line), "User="); found {
						user = value
					}
				}
			}
		}
	}
	if user == "root" {
		return ""
	}
	return user
}

// unitOf returns the unit with a file of settings: pigeon-node.service has those of the node
// monitor, pigeon-frontend@a.service those of frontend-a.
func unitOf(settings string) string {
	name := strings.TrimSuffix(filepath.Base(settings), ".yaml")
	role, instance, several := strings.Cut(name, "-")
	switch {
	case role == "nodemonitor":
		return "pigeon-node.service"
	case several:
		return "pigeon-" + role + "@" + instance + ".service"
	}
	return "pigeon-" + role + ".service"
}

// readers checks that daemons with a user of their own can read their settings, and the files that
// these name: a daemon that cannot read its key does not start.
func (h *Host) readers() Finding {
	if h.Readable == nil {
		return Finding{Status: Good, Found: "not tried: " + ask + " to try whether daemons can read their files"}
	}
	var f faults
	read := 0
	for _, path := range h.configured("*.yaml") {
		user := h.userOf(path)
		if roleOf(path) == "" || user == "" {
			continue
		}
		loaded, _ := h.Load(roleOf(path), path) // what is wrong with it is found by another check
		for _, file := range append([]string{path}, loaded.Files...) {
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
			read++
			if !h.Readable(user, file) {
				f.addf(Bad, "give it to the group of that user, and let the group read it and pass through its folders: chgrp "+user+" FILE; chmod 640 FILE", "the user %s, as whom the daemon of %s runs, cannot read %s", user, h.name(path), h.name(file))
			}
		}
	}
	return f.finding(sched.Count(read, "file is", "files are") + " readable for the users of daemons")
}
