package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// lifetime is that of the certificates of a cluster, which a user or a test watches.
const lifetime = 30 * 24 * time.Hour

// loopback is the host of NATS servers with a certificate.
const loopback = "127.0.0.1"

// holder is a daemon, or a caller, that has a certificate.
type holder struct {
	role identity.Role
	name string
}

// observer is the holder whose certificate the callers of a cluster's frontends use.
var observer = holder{identity.Admin, "cluster"}

// holders returns all holders of a certificate.
func (s *Spec) holders() []holder {
	all := []holder{observer}
	for g := range s.masters() {
		all = append(all, holder{identity.Master, strconv.Itoa(g)})
	}
	for g, size := range s.Groups {
		for k := range size {
			all = append(all, holder{identity.Node, nodeName(g, k)})
		}
	}
	for i := range s.Frontends {
		all = append(all, holder{identity.Frontend, frontendName(i)})
	}
	for i := range s.natsProcesses() {
		all = append(all, holder{authority.NATS, natsName(i)})
	}
	return all
}

// folder returns where the certificate of a holder is.
func (p *places) folder(h holder) string {
	return filepath.Join(p.dir, "tls", string(h.role)+"-"+h.name)
}

// authority returns the folder of the cluster's certificate authority.
func (p *places) authority() string { return filepath.Join(p.dir, "tls", "authority") }

// certify makes an authority and a certificate for each daemon, unless the folder has them from
// an earlier cluster.
func (c *Cluster) certify() error {
	if !c.spec.TLS {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(c.places.dir, "tls"), 0o700); err != nil {
		return fmt.Errorf("the cluster has no folder for its certificates: %w", err)
	}
	at := c.places.authority()
	open := authority.Open
	if _, err := os.Lstat(filepath.Join(at, authority.CAFile)); errors.Is(err, fs.ErrNotExist) {
		open = func(dir string) (*authority.Authority, error) {
			return authority.Init(dir, settings.DefaultSettings().Cluster, lifetime, time.Now())
		}
	}
	a, err := open(at)
	if err != nil {
		return err
	}
	for _, h := range c.spec.holders() {
		if _, err := os.Lstat(c.places.folder(h)); err == nil {
			continue
		}
		request := authority.Request{Role: h.role, Name: h.name}
		if h.role == authority.NATS {
			request.Hosts = []string{loopback} // its clients check the host
		}
		issued, err := a.Issue(request, time.Now())
		if err == nil {
			err = issued.Write(c.places.folder(h))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Security returns how the cluster's frontends are called: by an admin's certificate with
// [Spec.TLS], else as any process of this user calls them.
func (c *Cluster) Security() (client.Security, error) {
	if !c.spec.TLS {
		return client.Security{}, nil
	}
	var s settings.Settings
	c.spec.secure(&s, &c.places, observer)
	mine, err := credentials.Open(credentials.Options{Cluster: settings.DefaultSettings().Cluster, CA: filepath.Join(s.TLS, authority.TrustFile), Cert: filepath.Join(s.TLS, authority.CertFile), Key: filepath.Join(s.TLS, authority.KeyFile)})
	if err != nil {
		return client.Security{}, err
	}
	return mine.To(identity.Frontend, ""), nil
}

// secure sets the certificate of a daemon, or that it needs none where its host is this machine all
// the same.
func (s *Spec) secure(c *settings.Settings, p *places, h holder) {
	if !s.TLS {
		c.Insecure = s.Network != nil
		return
	}
	c.TLS = p.folder(h)
}
