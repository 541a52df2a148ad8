package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/authority"
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
			f.addf(Warn, "set tls_ca, tls_cert and tls_key, and leave insecure out", "%s has insecure: true, by which every caller may do everything", h.name(path))
		default:
			read++
		}
	}
	return f.finding(sched.Count(read, "file of settings in /etc/pigeon is", "files of settings in /etc/pigeon are") + " good")
}

// secrets checks who may read keys, tokens and settings, which may have passwords, and who may
// write them.
func (h *Host) secrets() Finding {
	var f faults
	paths := h.configured("*.yaml", "*.key", "*.pem", "tokens*")
	for _, path := range paths {
		public := strings.HasSuffix(path, ".pem") && !holdsKey(path) || strings.HasSuffix(path, ".yaml") && roleOf(path) == ""
		h.judge(&f, path, public)
	}
	return f.finding(sched.Count(len(paths), "file in /etc/pigeon is", "files in /etc/pigeon are") + " readable for whom they are meant")
}

// holdsKey reports whether a file has a private key: 'pigeon pki issue' writes key.pem, others may
// append a key to its certificate.
func holdsKey(path string) bool {
	if filepath.Base(path) == authority.KeyFile {
		return true
	}
	text, err := os.ReadFile(path)
	return err == nil && bytes.Contains(text, []byte("PRIVATE KEY-----"))
}

// judge records what is wrong with the owner and mode of a file of settings, a key or a
// certificate.
func (h *Host) judge(f *faults, path string, public bool) {
	info, err := os.Lstat(path)
	if err != nil {
		f.addf(Warn, ask, "%s: %v", h.name(path), err)
		return
	}
	mode := info.Mode().Perm()
	if owner, ok := ownerOf(info); ok && !slices.Contains(h.Owner, owner) {
		f.addf(Bad, "give it to root", "%s belongs to user %d", h.name(path), owner)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return // its target has its own owner
	case mode&0o022 != 0:
		f.addf(Bad, "chmod go-w", "%s has mode %04o: others may write it", h.name(path), mode)
	case !public && mode&0o007 != 0:
		f.addf(Bad, "chmod o-rwx", "%s has mode %04o: everybody may read it", h.name(path), mode)
	}
}

// ownerOf returns the user to whom a file belongs.
func ownerOf(info fs.FileInfo) (int, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

// data checks the folders of daemons: journals and streams are theirs alone, and through those of
// node monitors others may only pass.
func (h *Host) data() Finding {
	var f faults
	folders, err := os.ReadDir(h.path("/var/lib/pigeon"))
	if err != nil {
		return Finding{Status: Good, Found: "no daemon has data in /var/lib/pigeon"}
	}
	for _, d := range folders {
		info, err := d.Info()
		if err != nil || !d.IsDir() {
			continue
		}
		closed := fs.FileMode(0o077)
		if strings.HasPrefix(d.Name(), "node") {
			closed = 0o066
		}
		path := "/var/lib/pigeon/" + d.Name()
		if mode := info.Mode().Perm(); mode&closed != 0 {
			f.addf(Bad, fmt.Sprintf("chmod %04o %s", mode&^closed, path), "%s has mode %04o", path, mode)
		}
		if owner, ok := ownerOf(info); ok && !slices.Contains(h.Owner, owner) {
			f.addf(Bad, "give it to the daemon's user", "%s belongs to user %d", path, owner)
		}
	}
	return f.finding(sched.Count(len(folders), "folder in /var/lib/pigeon is", "folders in /var/lib/pigeon are") + " closed to others")
}
