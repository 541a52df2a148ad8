package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// TestFirstSecuredCluster runs the five commands of docs/security.md, "A first secured cluster in
// five commands". The copy of the second is a copy between folders here.
func TestFirstSecuredCluster(t *testing.T) {
	for _, host := range []string{"127.0.0.1", daemontest.OwnAddress(t)} {
		t.Run(host, func(t *testing.T) {
			if host == "" {
				t.Skip("this machine has loopback addresses only")
			}
			secrets, home := filepath.Join(t.TempDir(), "secrets"), t.TempDir()
			_, line := runDev(t, "--listen", host+":0", "--secure", secrets)

			own := filepath.Join(home, "pigeon")
			if err := os.MkdirAll(own, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"ca.pem", "token"} {
				text, err := os.ReadFile(filepath.Join(secrets, name))
				if err := errors.Join(err, os.WriteFile(filepath.Join(own, name), text, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			// Another user's machine: it finds no dev, and its own files in their places.
			t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", home)
			t.Setenv("PIGEON_FRONTEND", line.Frontends[0])
			if host == "127.0.0.1" { // default places are for other machines only
				t.Setenv("PIGEON_TLS_CA", filepath.Join(own, "ca.pem"))
				t.Setenv("PIGEON_TOKEN_FILE", filepath.Join(own, "token"))
			}
			if got := lines[access.WhoamiLine](t, succeed(t, "whoami", "-o", "json")); len(got) != 1 || got[0].Role != "admin" || got[0].Proof != "token" || got[0].ExpiresIn <= 0 || got[0].Frontend != line.Frontends[0] {
				t.Errorf("%+v", got)
			}
			if got := succeed(t, "run", "--", "echo", "hello"); got != "hello" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestSecureDev: the user's own commands find a secured dev, and its files are kept.
func TestSecureDev(t *testing.T) {
	secrets := filepath.Join(t.TempDir(), "secrets")
	var tokens, serials []string
	for range 2 {
		b, line := runDev(t, "--secure", secrets)
		if got := succeed(t, "run", "--", "echo", "hello"); got != "hello" {
			t.Errorf("%q", got)
		}
		if got := lines[access.WhoamiLine](t, succeed(t, "whoami", "-o", "json")); got[0].Proof != "token" {
			t.Errorf("%+v", got)
		}
		text, err := os.ReadFile(line.TokenFile)
		if err != nil || line.TLSCA != filepath.Join(secrets, "ca.pem") {
			t.Errorf("%+v: %v", line, err)
		}
		tokens = append(tokens, string(text))
		serials = append(serials, lines[access.CertificateLine](t, succeed(t, "pki", "show", "--dir", secrets, filepath.Join(secrets, "frontend-frontend-0"), "-o", "json"))[0].Serial)
		if code, errs := b.stop(); code != cli.ExitDone {
			t.Errorf("status %d: %s", code, errs)
		}
	}
	if tokens[0] != tokens[1] || serials[0] != serials[1] {
		t.Error("the token or the certificate was made anew")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "10.0.0.1:0"}, "--secure DIR"},
		{[]string{"--listen", "0.0.0.0:0", "--secure", secrets}, "no address by which others reach"},
		{[]string{"--web", "10.0.0.1:0", "--secure", secrets}, "--web"},
	} {
		if code, _, errs := program(t, append([]string{"dev"}, c.args...)...); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %s", c.args, code, errs)
		}
	}
}

// securedCluster is a cluster of processes that call each other by TLS, and its authority.
type securedCluster struct {
	pki, tokens, frontend string
	processes             []*process
}

// startSecured makes an authority, a certificate for each daemon, and starts these.
func startSecured(t *testing.T) *securedCluster {
	t.Helper()
	dir := t.TempDir()
	c := &securedCluster{pki: filepath.Join(dir, "pki"), tokens: filepath.Join(dir, "tokens")}
	t.Setenv("PIGEON_FRONTEND", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	succeed(t, "pki", "init", "--dir", c.pki)
	c.token(t, "first", "--user", "first", "--role", "admin")
	daemon := func(verb, role, name string, args ...string) *process {
		succeed(t, "pki", "issue", "--dir", c.pki, "--role", role, "--name", name)
		at := filepath.Join(c.pki, role+"-"+name)
		p := spawn(t, slices.Concat([]string{
			verb, "--http", "", "--listen", "127.0.0.1:0", "--tls", at, "--tokens-file", c.tokens,
		}, args)...)
		c.processes = append(c.processes, p)
		return p
	}
	master := daemon("master", "master", "0", "--group", "0")
	at := master.line.Addresses["daemons"]
	daemon("nodemonitor", "node", "n1", "--id", "n1", "--master", at, "--internal-listen", "127.0.0.1:0", "--run-as", "daemon", "--allow-root=true", "--work-dir", filepath.Join(dir, "work"))
	f := daemon("frontend", "frontend", "f0", "--id", "f0", "--masters", at, "--internal-listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	c.frontend = f.line.Addresses["applications"]
	return c
}

// token makes an access token, and returns its file.
func (c *securedCluster) token(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(c.pki), name+".token")
	succeed(t, append([]string{"token", "create", "--file", c.tokens, "--out", path}, args...)...)
	return path
}

// call returns the arguments of a verb that calls the cluster with a token.
func (c *securedCluster) call(token string, args ...string) []string {
	return slices.Concat(args[:1], []string{"--frontend", c.frontend, "--retry-for", "0", "--tls-ca", filepath.Join(c.pki, "ca.pem"), "--token-file", token}, args[1:])
}

// TestSecuredDaemons: a cluster whose certificates 'pigeon pki' made runs jobs for callers with a
// token, and tells all others what is wrong.
func TestSecuredDaemons(t *testing.T) {
	c := startSecured(t)
	alice := c.token(t, "alice", "--user", "alice", "--role", "user")
	daemontest.Await(t, "alice is known", func() bool {
		code, out, _ := program(t, c.call(alice, "whoami", "-o", "json")...)
		return code == cli.ExitDone && lines[access.WhoamiLine](t, out)[0].Name == "alice"
	})
	if got := succeed(t, c.call(alice, "run", "--", "echo", "hello")...); got != "hello" {
		t.Errorf("%q", got)
	}
	c.refuses(t, alice)

	// Certificates are renewed while the daemons run, and jobs continue.
	succeed(t, "pki", "renew", "--dir", c.pki, "--within", "10000d")
	if got := succeed(t, c.call(alice, "run", "--", "echo", "again")...); got != "again" {
		t.Errorf("%q", got)
	}
	id := lines[access.TokenLine](t, succeed(t, "token", "list", "--file", c.tokens, "-o", "json"))[1].ID
	succeed(t, "token", "revoke", "--file", c.tokens, id)
	daemontest.Await(t, "alice is refused", func() bool {
		code, _, errs := program(t, c.call(alice, "status")...)
		return code != cli.ExitDone && strings.Contains(errs, "was revoked") && strings.Contains(errs, "pigeon token create") && strings.Contains(errs, "pigeon whoami")
	})
	for _, p := range slices.Backward(c.processes) {
		p.end(t)
	}
}

// refuses checks the errors of callers that cannot prove their identity.
func (c *securedCluster) refuses(t *testing.T, alice string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(alice)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "pki")
	succeed(t, "pki", "init", "--dir", other)
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stranger := filepath.Join(dir, "stranger.token")
	succeed(t, "token", "create", "--file", filepath.Join(dir, "tokens"), "--user", "eve", "--role", "admin", "--out", stranger)
	for name, r := range map[string]struct {
		args []string
		want []string
	}{
		"another cluster's token":      {c.call(stranger, "status"), []string{"not known here", "pigeon token create"}},
		"a token that others can read": {c.call(put("open", string(text), 0o644), "status"), []string{"chmod 600 ", "open"}},
		"no token":                     {c.call(put("none", "hello\n", 0o600), "status"), []string{"is no access token", "pigeon token create"}},
		"no file":                      {c.call(filepath.Join(dir, "absent"), "status"), []string{"absent", "no such file"}},
		"another cluster's authority":  {append(c.call(alice, "status"), "--tls-ca", filepath.Join(other, "ca.pem")), []string{"--tls-ca"}},
		"another cluster's name":       {append(c.call(alice, "status"), "--cluster", "prod"), []string{`"prod"`}},
		"a token in clear": {
			[]string{"status", "--frontend", "203.0.113.1:1", "--token-file", alice}, []string{"in clear", "--tls-ca"},
		},
	} {
		code, out, errs := program(t, r.args...)
		if code == cli.ExitDone || out != "" || strings.Contains(errs, strings.TrimSpace(string(text))[20:]) {
			t.Errorf("%s: status %d, %s%s", name, code, out, errs)
		}
		for _, want := range r.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: %q lacks %q", name, errs, want)
			}
		}
	}
}

// A folder of certificates that lacks a file is refused, with the name of the file and what to do.
func TestTLSFolderThatLacksAFile(t *testing.T) {
	dir := t.TempDir()
	pki := filepath.Join(dir, "pki")
	succeed(t, "pki", "init", "--dir", pki)
	for role, args := range map[string][]string{
		"frontend": {"--id", "n1", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "", "--data", filepath.Join(dir, "data")},
		"nats":     {"--listen", "127.0.0.1:0"},
	} {
		succeed(t, "pki", "issue", "--dir", pki, "--role", role, "--name", "n1", "--host", "127.0.0.1")
		folder := filepath.Join(pki, role+"-n1")
		for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
			file := filepath.Join(folder, name)
			if err := os.Rename(file, file+".away"); err != nil {
				t.Fatal(err)
			}
			code, _, errs := program(t, slices.Concat([]string{role, "--tls", folder}, args)...)
			if code != cli.ExitFailed || !strings.Contains(errs, file+": it is not there") || !strings.Contains(errs, "'pigeon pki issue --out FOLDER' writes ca.crt, tls.crt and tls.key") {
				t.Errorf("a %s without %s: status %d, %s", role, name, code, errs)
			}
			if err := os.Rename(file+".away", file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
