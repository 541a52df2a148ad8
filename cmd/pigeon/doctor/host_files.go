package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// configured returns the files of /etc/pigeon and of the folders in it that a pattern of names fits.
func (h *Host) configured(patterns ...string) (paths []string) {
	for _, pattern := range patterns {
		for _, depth := range []string{pattern, filepath.Join("*", pattern)} {
			found, err := filepath.Glob(filepath.Join(h.path("/etc/pigeon"), depth))
			if err == nil { // it fails for malformed patterns only
				paths = append(paths, found...)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// roleOf returns the role of a file of settings, "" for another file: frontend.yaml and
// frontend-a.yaml are a frontend's.
func roleOf(path string) string {
	base, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".yaml"), "-")
	if slices.Contains(settingsRoles, base) {
		return base
	}
	return ""
}

// settings reads every file of settings as its daemon would, and so finds what the daemon would
// refuse, such as an open listener.
func (h *Host) settings() Finding {
	var f faults
	read := 0
	for _, path := range h.configured("*.yaml") {
		role := roleOf(path)
		if role == "" {
			continue
		}
		loaded, err := h.Load(role, path)
		switch {
		case errors.Is(err, fs.ErrPermission):
			f.addf(Warn, ask, "%s cannot be read", h.name(path))
		case err != nil:
			f.addf(Bad, "correct it; 'pigeon config check "+role+" FILE' says when it is good", "%s: %v", h.name(path), err)
		case loaded.Insecure:
			f.addf(Warn, "set tls, and leave insecure out", "%s has insecure: true, by which every caller may do everything", h.name(path))
		default:
			read++
		}
	}
	return f.finding(sched.Count(read, "file of settings in /etc/pigeon is", "files of settings in /etc/pigeon are") + " good")
}
