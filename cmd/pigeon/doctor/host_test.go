package doctor

import (
	"context"
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
		Root: t.TempDir(), Now: hostTime, Owner: []int{os.Getuid()}, Program: "v1.1.0 abc",
		Processes: func() ([]Process, error) { return nil, nil },
		State:     func(context.Context, string) string { return "" },
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
		"good settings":     {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/frontend-a.yaml", 0o640, "") }, "settings", Good, "1 file of settings in /etc/pigeon is good"},
		"others' files":     {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/owners.yaml", 0o644, "bad") }, "settings", Good, "0 files"},
		"bad settings":      {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/master.yaml", 0o640, "bad") }, "settings", Bad, "/etc/pigeon/master.yaml: the settings of master are bad"},
		"insecure":          {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/nodemonitor.yaml", 0o640, "insecure") }, "settings", Warn, "insecure: true"},
		"closed settings":   {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/nats.yaml", 0o640, "closed") }, "settings", Warn, "as root"},
		"readable settings": {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/master.yaml", 0o644, "") }, "secrets", Bad, "everybody may read"},
		"readable for all":  {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/client.yaml", 0o644, "") }, "secrets", Good, "1 file in /etc/pigeon is readable"},
		"writable for all":  {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/client.yaml", 0o666, "") }, "secrets", Bad, "others may write"},
		"readable key":      {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/tls/node.key", 0o644, "") }, "secrets", Bad, "/etc/pigeon/tls/node.key has mode 0644"},
		"good key":          {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/frontend.key", 0o640, "") }, "secrets", Good, "1 file in /etc/pigeon is readable"},
		"readable key.pem":  {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/tls/key.pem", 0o644, "") }, "secrets", Bad, "/etc/pigeon/tls/key.pem has mode 0644"},
		"key in a .pem": {func(t *testing.T, h *Host) {
			h.put(t, "/etc/pigeon/both.pem", 0o644, "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n")
		}, "secrets", Bad, "/etc/pigeon/both.pem has mode 0644"},
		"readable certificate": {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/tls/cert.pem", hostTime, 90*day) }, "secrets", Good, "1 file in /etc/pigeon is readable"},
		"issued":               {func(t *testing.T, h *Host) { h.issue(t, "/etc/pigeon/tls") }, "secrets", Good, "3 files"},
		"issued certificate":   {func(t *testing.T, h *Host) { h.issue(t, "/etc/pigeon/tls") }, "certificates", Good, "2 in /etc/pigeon"},
		"readable tokens":      {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/tokens", 0o604, "") }, "secrets", Bad, "chmod o-rwx"},
		"a stranger's":         {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/ca.pem", 0o644, ""); h.Owner = []int{-1} }, "secrets", Bad, "belongs to user"},
		"closed key":           {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/frontend.key") }, "readers", Bad, "the user pigeon, as whom the daemon of /etc/pigeon/frontend.yaml runs, cannot read /etc/pigeon/frontend.key"},
		"closed key of many":   {func(t *testing.T, h *Host) { h.keyOf(t, "master-a", "/etc/pigeon/tls/key.pem") }, "readers", Bad, "chgrp pigeon"},
		"key of a node":        {func(t *testing.T, h *Host) { h.keyOf(t, "nodemonitor", "/etc/pigeon/nodemonitor.key") }, "readers", Good, "0 files"},
		"open key":             {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/open.key") }, "readers", Good, "2 files are readable"},
		"another user's": {func(t *testing.T, h *Host) {
			h.keyOf(t, "frontend", "/etc/pigeon/frontend.key")
			h.put(t, "/etc/systemd/system/pigeon-frontend.service.d/user.conf", 0o644, "[Service]\nUser=root\n")
		}, "readers", Good, "0 files"},
		"readers, not as root": {func(t *testing.T, h *Host) { h.keyOf(t, "frontend", "/etc/pigeon/frontend.key"); h.Readable = nil }, "readers", Good, "not tried"},
		"no data":              {func(*testing.T, *Host) {}, "data folders", Good, "no daemon"},
		"good data":            {func(t *testing.T, h *Host) { h.put(t, "/var/lib/pigeon/frontend", 0o700|fs.ModeDir, "") }, "data folders", Good, "1 folder in /var/lib/pigeon is closed"},
		"open journal":         {func(t *testing.T, h *Host) { h.put(t, "/var/lib/pigeon/frontend", 0o750|fs.ModeDir, "") }, "data folders", Bad, "chmod 0700 /var/lib/pigeon/frontend"},
		"node's folder":        {func(t *testing.T, h *Host) { h.put(t, "/var/lib/pigeon/node", 0o711|fs.ModeDir, "") }, "data folders", Good, "1 folder in /var/lib/pigeon is closed"},
		"open node's folder":   {func(t *testing.T, h *Host) { h.put(t, "/var/lib/pigeon/node", 0o755|fs.ModeDir, "") }, "data folders", Bad, "chmod 0711"},
		"no certificates":      {func(*testing.T, *Host) {}, "certificates", Good, "none"},
		"good certificate":     {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime, 90*day) }, "certificates", Good, "ends on 2026-08-30"},
		"ended certificate":    {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime.Add(-90*day), 80*day) }, "certificates", Bad, "has ended"},
		"ending certificate": {func(t *testing.T, h *Host) {
			h.certificate(t, "/etc/pigeon/tls/cert.pem", hostTime.Add(-80*day), 90*day)
		}, "certificates", Warn, "pki renew"},
		"ending, of pigeon cluster": {func(t *testing.T, h *Host) {
			h.put(t, "/etc/pigeon/manifest.json", 0o644, "{}")
			h.certificate(t, "/etc/pigeon/frontend.pem", hostTime.Add(-80*day), 90*day)
		}, "certificates", Warn, "pigeon cluster apply"},
		"damaged, of pigeon cluster": {func(t *testing.T, h *Host) {
			h.put(t, "/etc/pigeon/manifest.json", 0o644, "{}")
			h.put(t, "/etc/pigeon/frontend.pem", 0o644, "x")
		}, "certificates", Bad, "pigeon cluster apply"},
		"early certificate":   {func(t *testing.T, h *Host) { h.certificate(t, "/etc/pigeon/ca.pem", hostTime.Add(2*day), 90*day) }, "certificates", Bad, "clock"},
		"damaged certificate": {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/ca.pem", 0o644, "x") }, "certificates", Bad, "ca.pem"},
		"revocations":         {func(t *testing.T, h *Host) { h.put(t, "/etc/pigeon/crl.pem", 0o644, "x") }, "certificates", Good, "none"},
		"same version":        {func(_ *testing.T, h *Host) { h.running(Process{7, "master", "v1.1.0 abc"}) }, "daemons", Good, "1 daemon runs, which is of v1.1.0"},
		"former version":      {func(_ *testing.T, h *Host) { h.running(Process{7, "master", "v1.0.0 def"}) }, "daemons", Warn, "process 7 (master) runs v1.0.0 def"},
		"hidden version":      {func(_ *testing.T, h *Host) { h.running(Process{7, "nats", ""}) }, "daemons", Warn, "as root"},
		"no units":            {func(*testing.T, *Host) {}, "units", Good, "none is enabled"},
		"unit that runs":      {func(t *testing.T, h *Host) { h.enable(t, "frontend@a", "frontend-a", "active") }, "units", Good, "1 is enabled"},
		"unit that failed":    {func(t *testing.T, h *Host) { h.enable(t, "node", "nodemonitor", "failed") }, "units", Bad, "pigeon-node.service is enabled and failed"},
		"unit that waits":     {func(t *testing.T, h *Host) { h.enable(t, "node", "nodemonitor", "activating") }, "units", Warn, "is starting"},
		"unit, no settings":   {func(t *testing.T, h *Host) { h.enable(t, "nats", "other", "active") }, "units", Bad, "no /etc/pigeon/nats.yaml"},
	} {
		h := newHost(t)
		c.make(t, h)
		var got Finding
		for _, check := range h.checks() {
			if check.Name == c.check {
				got = check.Run(t.Context())
			}
		}
		if strings.Contains(name, "of pigeon cluster") && strings.Contains(got.Advice, "pigeon pki") {
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

func (h *Host) running(p Process) {
	h.Processes = func() ([]Process, error) { return []Process{p}, nil }
}

func (h *Host) enable(t *testing.T, unit, settings, state string) {
	t.Helper()
	h.put(t, "/etc/systemd/system/multi-user.target.wants/pigeon-"+unit+".service", 0o644, "")
	h.put(t, "/etc/pigeon/"+settings+".yaml", 0o640, "")
	h.State = func(context.Context, string) string { return state }
}

// The checks of daemons are made where /etc/pigeon is, and one finding lists a few faults of many.
func TestHostWithoutDaemons(t *testing.T) {
	h := newHost(t)
	with := len(Checks(Options{Host: h}))
	if without := len(Checks(Options{Host: &Host{Root: t.TempDir()}})); with != without+7 || len(Checks(Options{})) != without {
		t.Errorf("%d checks with daemons, %d without", with, without)
	}
	for i := range 3 * mostFound {
		h.put(t, fmt.Sprintf("/etc/pigeon/k%02d.key", i), 0o644, "")
	}
	if got := h.secrets(); !strings.HasSuffix(got.Found, "and 20 more") || strings.Count(got.Advice, "chmod") != 1 {
		t.Errorf("%+v", got)
	}
}

// The daemons of this machine can be listed, and a program shows what it was built from, also
// while it runs.
func TestRunning(t *testing.T) {
	if _, err := Running(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if builtFrom(self) == "" || builtFrom(t.TempDir()) != "" {
		t.Errorf("this program is of %q", builtFrom(self))
	}
}
