package clusters

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// hostFile returns where the folder of a plan has a file of a host.
func hostFile(folder string, h *hosts.Host, path string) string {
	return filepath.Join(folder, hostsFolder, h.Name, filepath.FromSlash(path))
}

// Lock makes the folder of a plan and takes it until unlock is called. Whoever makes a plan and writes
// it holds the lock for both: certificates that two processes issue at the same time would have
// different keys, and the folder a certificate of one with the key of the other.
func Lock(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the plan: %w", err)
	}
	if unlock, err = files.Lock(folder); err != nil {
		return nil, fmt.Errorf("the folder of the plan cannot be locked: %w", err)
	}
	return unlock, nil
}

// Write writes the plan into a folder: hosts/NAME has the files of a host as they will be there,
// below its root. Files of hosts that the plan does not have any more are removed; it returns the
// paths of what changed, in order. Keys are readable by their owner alone.
func (p *Plan) Write(folder string) (changed []string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the plan: %w", err)
	}
	wanted := map[string]bool{}
	put := func(path string, mode fs.FileMode, data []byte) error {
		wanted[path] = true
		fresh, err := replace(path, mode, data)
		if fresh {
			changed = append(changed, path)
		}
		return err
	}
	for _, h := range p.Hosts {
		m, err := h.manifest()
		if err != nil {
			return changed, err
		}
		for _, f := range append(h.Files, m) {
			mode := f.Mode
			if mode&0o004 == 0 {
				mode = privateMode
			}
			if err := put(hostFile(folder, h.Host, f.Path), mode, f.data); err != nil {
				return changed, err
			}
		}
	}
	err = errors.Join(put(filepath.Join(folder, clientFile), publicMode, p.Clients), put(filepath.Join(folder, ansibleFile), publicMode, p.Ansible))
	if err != nil {
		return changed, err
	}
	gone, err := prune(filepath.Join(folder, hostsFolder), wanted)
	return append(changed, gone...), err
}

// replace writes a file when it differs, and reports whether it did.
func replace(path string, mode fs.FileMode, data []byte) (bool, error) {
	old, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err == nil && statErr == nil && bytes.Equal(old, data) && info.Mode().Perm() == mode {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	temporary := path + ".new"
	err = errors.Join(os.WriteFile(temporary, data, mode), os.Chmod(temporary, mode))
	if err == nil {
		err = os.Rename(temporary, path)
	}
	return true, err
}

// prune removes the files below a folder that are not wanted, and empty folders.
func prune(root string, wanted map[string]bool) (gone []string, err error) {
	var folders []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, path)
		case !wanted[path]:
			gone = append(gone, path)
			return os.Remove(path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) { // the inner ones first
		_ = os.Remove(folder) // one that has files stays
	}
	return gone, err
}
