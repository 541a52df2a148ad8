package doctor

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// daemons checks that the daemons that run are of the program that is installed: an upgrade restarts
// none.
func (h *Host) daemons() Finding {
	running, err := h.Processes()
	if err != nil {
		return Finding{Status: Warn, Found: fmt.Sprintf("the processes of this host cannot be listed: %v", err), Advice: ask}
	}
	var f faults
	for _, p := range running {
		switch p.Program {
		case h.Program:
		case "":
			f.addf(Warn, ask, "the version of process %d (%s) cannot be read", p.PID, p.Role)
		default:
			f.addf(Warn, "restart them in the order of docs/operations.md, nodes by 'systemctl reload pigeon-node'", "process %d (%s) runs %s, and this program is %s", p.PID, p.Role, p.Program, h.Program)
		}
	}
	return f.finding(sched.Count(len(running), "daemon runs, which is", "daemons run, all") + " of " + h.Program)
}

// units checks that the units that are enabled run, and have settings.
func (h *Host) units(ctx context.Context) Finding {
	var f faults
	enabled, err := filepath.Glob(h.path("/etc/systemd/system/multi-user.target.wants/pigeon-*.service"))
	if err != nil || len(enabled) == 0 {
		return Finding{Status: Good, Found: "none is enabled (systemctl enable --now pigeon-frontend)"}
	}
	for _, path := range enabled {
		unit := filepath.Base(path)
		if _, err := os.Stat(h.path(settingsOf(unit))); errors.Is(err, os.ErrNotExist) {
			f.addf(Bad, "write it (pigeon config write), or disable the unit", "%s is enabled, and there is no %s", unit, settingsOf(unit))
		}
		switch state := h.State(ctx, unit); state {
		case "active", "reloading", "":
		case "activating":
			f.addf(Warn, "'systemctl status "+unit+"' says what it waits for", "%s is starting", unit)
		default:
			f.addf(Bad, "'journalctl -u "+unit+"' says why", "%s is enabled and %s", unit, state)
		}
	}
	return f.finding(sched.Count(len(enabled), "is enabled", "are enabled"))
}

// settingsOf returns the file of settings of a unit: pigeon-node.service has those of the node
// monitor, pigeon-frontend@a.service those of frontend-a.
func settingsOf(unit string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(unit, "pigeon-"), ".service")
	if name == "node" {
		name = "nodemonitor"
	}
	return "/etc/pigeon/" + strings.Replace(name, "@", "-", 1) + ".yaml"
}

// SystemdState returns the state of a unit according to systemd, "" where systemd does not run.
func SystemdState(ctx context.Context, unit string) string {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return ""
	}
	out, _ := exec.CommandContext(ctx, "systemctl", "is-active", unit).Output() // its exit status says the same as its output
	return strings.TrimSpace(string(out))
}

// Running lists the daemons that run on this machine, as /proc has them. A process that ends
// meanwhile is left out.
func Running() (list []Process, err error) {
	found, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		folder := filepath.Join("/proc", d.Name())
		text, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil {
			continue
		}
		words := strings.Split(string(text), "\x00")
		if len(words) < 2 || filepath.Base(words[0]) != "pigeon" || !slices.Contains(settingsRoles, words[1]) {
			continue
		}
		list = append(list, Process{PID: pid, Role: words[1], Program: builtFrom(filepath.Join(folder, "exe"))})
	}
	return list, nil
}

// builtFrom returns the version and commit of a program, also of one whose file was replaced while
// it runs; "" where it may not be read.
func builtFrom(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	return Built(info)
}

// Built returns the version and commit that a program was built from.
func Built(info *buildinfo.BuildInfo) string {
	version := []string{info.Main.Version}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version = append(version, s.Value[:min(12, len(s.Value))])
		}
	}
	return strings.Join(version, " ")
}
