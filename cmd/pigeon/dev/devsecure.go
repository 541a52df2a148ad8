package dev

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// devSecurity is what lets other machines reach a "pigeon dev": an authority, a certificate for
// each daemon and an access token for the user, in one folder. They are made once and renewed.
type devSecurity struct {
	authority *authority.Authority
	hosts     []string
	failed    error // of the certificates
}

// The names of the files in addition to those of the authority.
const (
	devTokens = "tokens"
	devToken  = "token"
	// devRenew is how long before its end a certificate of a dev is renewed: a dev may run for
	// weeks.
	devRenew = 90 * 24 * time.Hour
)

// secureDev opens the folder, or makes everything in it.
func secureDev(dir, cluster, listen string) (*devSecurity, error) {
	dir = connect.Absolute(dir)
	a, err := authority.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || isAbsent(err) {
		a, err = authority.Init(dir, cluster, authority.AuthorityLifetime, time.Now())
	}
	if err != nil {
		return nil, err
	}
	d := &devSecurity{authority: a, hosts: []string{"localhost", "127.0.0.1"}}
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "localhost" && host != "127.0.0.1" {
		d.hosts = append(d.hosts, host)
	}
	return d, d.makeToken()
}

// isAbsent reports whether an error says that something is not there.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == api.NotFound
}

func (d *devSecurity) path(name string) string { return filepath.Join(d.authority.Dir(), name) }

// settings are those of a client of the dev.
func (d *devSecurity) settings() connect.SecurityConfig {
	return connect.SecurityConfig{TLSCA: d.path(authority.CAFile), TokenFile: d.path(devToken)}
}

// makeToken makes the token of this user, unless there is one that lasts.
func (d *devSecurity) makeToken() error {
	if text, err := connect.ReadToken(d.path(devToken)); err == nil && tokens.Lasts(d.path(devTokens), text, time.Now().Add(devRenew/3)) {
		return nil
	}
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && identity.IsName(u.Username) {
		name = u.Username
	}
	text, _, err := tokens.Create(d.path(devTokens), tokens.Order{User: name, Role: identity.Admin, Lifetime: devRenew}, time.Now())
	if err != nil {
		return err
	}
	return access.KeepToken(d.path(devToken), text)
}

// configure gives a daemon its certificate, and the file of tokens. It records a failure:
// the start of the cluster, which calls it, has no way to return it.
func (d *devSecurity) configure(config any) {
	switch c := config.(type) {
	case *frontend.Config:
		d.secure(&c.SecuritySettings, identity.Frontend, c.ID)
	case *master.Config:
		d.secure(&c.SecuritySettings, identity.Master, strconv.Itoa(c.Group))
	case *nodemonitor.Config:
		d.secure(&c.SecuritySettings, identity.Node, c.ID)
	}
}

func (d *devSecurity) secure(s *settings.SecuritySettings, role identity.Role, name string) {
	dir := d.path(string(role) + "-" + name)
	if err := d.certificate(dir, role, name); err != nil {
		d.failed = errors.Join(d.failed, err)
		return
	}
	s.TLS, s.TokensFile = dir, d.path(devTokens)
}

// certificate makes sure that there is a certificate in the folder which lasts.
func (d *devSecurity) certificate(dir string, role identity.Role, name string) error {
	c, err := authority.ReadCertificate(filepath.Join(dir, authority.CertFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i, err := d.authority.Issue(authority.Request{Role: role, Name: name, Hosts: d.hosts}, time.Now())
		if err != nil {
			return err
		}
		return i.Write(dir)
	case err == nil && authority.EndsWithin(c, devRenew, time.Now()):
		_, err = d.authority.Renew(dir, 0, time.Now())
	}
	return err
}

// explain prints what a client on another machine needs.
func (d *devSecurity) explain(out io.Writer, frontend string) {
	s := d.settings()
	fmt.Fprintf(out, `
Other machines need copies of %s and %s, and these settings:
  export PIGEON_FRONTEND=%s
  export PIGEON_TLS_CA=ca.pem PIGEON_TOKEN_FILE=token
`, s.TLSCA, s.TokenFile, frontend)
}
