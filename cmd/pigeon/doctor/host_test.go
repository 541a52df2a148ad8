package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

var hostTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// newHost returns a host without daemons below a folder. Its settings are good unless they
// contain "bad" or "insecure".
func newHost(t *testing.T) *Host {
	t.Helper()
	h := &Host{
		Root: t.TempDir(), Now: hostTime,
	}
	h.Load = func(role, path string) (Settings, error) {
		text, err := os.ReadFile(path)
		if key, names := strings.CutPrefix(string(text), "key "); names {
			return Settings{Files: []string{h.path(key), h.path("/var/lib/pigeon")}}, err
		}
		if string(text) == "bad" {
			err = fmt.Errorf("the settings of %s are bad", role)
		}
		if string(text) == "closed" {
			err = fs.ErrPermission
		}
		return Settings{Insecure: string(text) == "insecure"}, err
	}
	h.put(t, "/etc/pigeon", 0o755|fs.ModeDir, "")
	return h
}

// put makes a file or folder of the host.
func (h *Host) put(t *testing.T, name string, mode fs.FileMode, text string) {
	t.Helper()
	path := h.path(name)
	folder := filepath.Dir(path)
	if mode.IsDir() {
		folder = path
	}
	err := os.MkdirAll(folder, 0o755)
	if err == nil && !mode.IsDir() {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err := errors.Join(err, os.Chmod(path, mode.Perm())); err != nil {
		t.Fatal(err)
	}
}

// certificate writes the certificate of an authority that begins at a time and ends after another.
func (h *Host) certificate(t *testing.T, name string, begin time.Time, lifetime time.Duration) {
	t.Helper()
	a, err := authority.Init(filepath.Join(t.TempDir(), "pki"), "c", lifetime, begin)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(a.Dir(), "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	h.put(t, name, 0o644, string(text))
}

// issue writes what 'pigeon pki issue --out' writes into a folder.
func (h *Host) issue(t *testing.T, folder string) {
	t.Helper()
	a, err := authority.Init(filepath.Join(t.TempDir(), "pki"), "c", 90*24*time.Hour, hostTime)
	if err != nil {
		t.Fatal(err)
	}
	i, err := a.Issue(authority.Request{Role: identity.Frontend, Name: "f"}, hostTime)
	if err == nil {
		err = i.Write(h.path(folder))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostIsChecked(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		make   func(t *testing.T, h *Host)
		check  string
		status Status
		parts  string // of the finding or the advice
	}{
		"good settings":      {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/frontend-a.yaml", 0o640, "") }, "settings", Good, "1 file of settings in /etc/pigeon is good"},
		"others' files":      {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/owners.yaml", 0o644, "bad") }, "settings", Good, "0 files"},
		"bad settings":       {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/master.yaml", 0o640, "bad") }, "settings", Bad, "/etc/pigeon/master.yaml: the settings of master are bad"},
		"insecure":           {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/nodemonitor.yaml", 0o640, "insecure") }, "settings", Warn, "insecure: true"},
		"closed settings":    {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/nats.yaml", 0o640, "closed") }, "settings", Warn, "as root"},
		"issued certificate": {func(t *testing.T, h *Host) { h.issue(t, "/etc/pigeon/tls") }, "certificates", Good, "2 in /etc/pigeon"},
		"closed key":         {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/frontend.key") }, "readers", Bad, "the user pigeon, as whom the daemon of /etc/pigeon/frontend.yaml runs, cannot read /etc/pigeon/frontend.key"},
		"closed key of many": {func(t *testing.T, h *Host) { h.keyOf(t, "master-a", "/etc/pigeon/tls/key.pem") }, "readers", Bad, "chgrp pigeon"},
		"key of a node":      {func(t *testing.T, h *Host) { h.keyOf(t, "nodemonitor", "/etc/pigeon/nodemonitor.key") }, "readers", Good, "0 files"},
		"open key":           {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/open.key") }, "readers", Good, "2 files are readable"},
		"another user's": {func(t *testing.T, h *Host) {
			h.keyOf(t, "frontend", "/etc/pigeon/frontend.key")
			h.put(t, "/etc/systemd/system/pigeon-frontend.service.d/user.conf", 0o644, "[Service]\nUser=root\n")
		}, "readers", Good, "0 files"},
		"readers, not as root": {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/frontend.key"); h.Readable = nil }, "readers", Good, "not tried"},
		"no certificates":      {func(*testing.T, *Host) {}, "certificates", Good, "none"},
		"good certificate":     {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime, 90*day) }, "certificates", Good, "ends on 2026-08-30"},
		"ended certificate":    {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime.Add(-90*day), 80*day) }, "certificates", Bad, "has ended"},
		"ending certificate": {func(t *testing.T, h *Host) {
			h.certificate(t, "/etc/pigeon/tls/cert.pem", hostTime.Add(-80*day), 90*day)
		}, "certificates", Warn, "pki renew"},
		"ending, of a plan": {func(t *testing.T, h *Host) {
			h.put(t, "/etc/pigeon/manifest.json", 0o644, "{}")
			h.certificate(t, "/etc/pigeon/frontend.pem", hostTime.Add(-80*day), 90*day)
		}, "certificates", Warn, "site.yml"},
		"damaged, of a plan": {func(t *testing.T, h *Host) {
			h.put(t, "/etc/pigeon/manifest.json", 0o644, "{}")
			h.put(t, "/etc/pigeon/frontend.pem", 0o644, "x")
		}, "certificates", Bad, "site.yml"},
		"early certificate":   {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime.Add(2*day), 90*day) }, "certificates", Bad, "clock"},
		"damaged certificate": {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/ca.pem", 0o644, "x") }, "certificates", Bad, "ca.pem"},
		"revocations":         {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/crl.pem", 0o644, "x") }, "certificates", Good, "none"},
	} {
		h := newHost(t)
		c.make(t, h)
		var got Finding
		for _, check := range Checks(Options{Host: h}) {
			if check.Name == c.check {
				got = check.Run()
			}
		}
		if strings.Contains(name, "of a plan") && strings.Contains(got.Advice, "pigeon pki") {
			t.Errorf("%s: the advice is for certificates of 'pigeon pki': %+v", name, got)
		}
		if got.Status != c.status || !strings.Contains(got.Found+got.Advice, c.parts) || (got.Advice == "") != (c.status == Good) {
			t.Errorf("%s: %+v, want %s with %q", name, got, c.status, c.parts)
		}
	}
}

// keyOf makes a daemon with a unit of the package and a key, which the daemon's user can read if the
// key has "open" in its name.
func (h *Host) keyOf(t *testing.T, settings, key string) {
	t.Helper()
	for _, unit := range []string{"frontend", "master@", "node"} {
		text := "[Service]\nUser=pigeon\n"
		if unit == "node" {
			text = "[Service]\n"
		}
		h.put(t, "/usr/lib/systemd/system/pigeon-"+unit+".service", 0o644, text)
	}
	h.put(t, "/etc/pigeon/"+settings+".yaml", 0o640, "key "+key)
	h.put(t, key, 0o600, "")
	h.put(t, "/var/lib/pigeon", 0o755|fs.ModeDir, "")
	h.Readable = func(user, path string) bool {
		return user == "pigeon" && (strings.HasSuffix(path, ".yaml") || strings.Contains(path, "open"))
	}
}

// The checks of daemons are made where /etc/pigeon is, and one finding lists a few faults of many.
func TestHostWithoutDaemons(t *testing.T) {
	h := newHost(t)
	with := len(Checks(Options{Host: h}))
	if without := len(Checks(Options{Host: &Host{Root: t.TempDir()}})); with != without+3 || len(Checks(Options{})) != without {
		t.Errorf("%d checks with daemons, %d without", with, without)
	}
	for i := range 3 * mostFound {
		h.put(t, fmt.Sprintf("/etc/pigeon/frontend-%02d.yaml", i), 0o644, "insecure")
	}
	if got := h.settings(); !strings.HasSuffix(got.Found, "and 20 more") || strings.Count(got.Advice, "set tls") != 1 {
		t.Errorf("%+v", got)
	}
}
