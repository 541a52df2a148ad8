package clusters

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// certificates are those of the daemons of a plan. They are issued by the authority in the
// plan's folder "authority", which is made with the first plan, and are kept in the hosts' folders
// for as long as they hold.
type certificates struct {
	authority *authority.Authority
	folder    string // of the plan
	now       time.Time
	ca, crl   []byte
	tokens    []byte // nil: none
}

// renewBefore is how long before it expires a certificate is renewed.
const renewBefore = 30 * 24 * time.Hour

// The files of a plan's folder that are of no host.
const (
	authorityFolder = "authority"
	tokensFile      = "tokens"
	clientFile      = "client.yaml"
	ansibleFile     = "ansible.yaml"
	hostsFolder     = "hosts"
)

// openCertificates opens the authority, or makes it.
func openCertificates(inv *hosts.Inventory, folder string, now time.Time) (*certificates, error) {
	c := &certificates{folder: folder, now: now}
	dir := filepath.Join(folder, authorityFolder)
	var err error
	if c.authority, err = authority.Open(dir); missing(err) {
		if err = os.MkdirAll(folder, 0o700); err == nil {
			c.authority, err = authority.Init(dir, inv.Cluster, authority.AuthorityLifetime, now)
		}
	}
	if err != nil {
		return nil, err
	}
	if name := c.authority.Cluster(); name != inv.Cluster {
		return nil, &api.Error{
			Problem: api.Invalid, What: "the authority there is of the cluster " + name + ", and the inventory of " + inv.Cluster, Subject: dir, Tried: "issuing certificates",
			Next: "name another folder with --out, or correct the cluster's name",
		}
	}
	if c.ca, err = os.ReadFile(filepath.Join(dir, authority.CAFile)); err != nil {
		return nil, err
	}
	if c.crl, err = os.ReadFile(filepath.Join(dir, authority.CRLFile)); err != nil {
		return nil, err
	}
	c.tokens, err = os.ReadFile(filepath.Join(folder, tokensFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// missing reports whether an authority is not there yet.
func missing(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == api.NotFound
}

// identityOf returns the role in a certificate.
func identityOf(r hosts.Role) identity.Role {
	return map[hosts.Role]identity.Role{hosts.NATS: authority.NATS, hosts.Master: identity.Master, hosts.Frontend: identity.Frontend, hosts.Node: identity.Node}[r]
}

// add adds the certificate of a daemon to the files of its host. Without certificates there is
// nothing to add.
func (c *certificates) add(p *HostPlan, r hosts.Role) error {
	if c == nil {
		return nil
	}
	at, daemons := pathsOf(p.Host), r != hosts.Node
	cert, key, err := c.kept(p.Host, r)
	if err != nil {
		return err
	}
	if cert == nil {
		issued, err := c.authority.Issue(authority.Request{Role: identityOf(r), Name: certificateName(p.Host, r), Hosts: names(p.Host)}, c.now)
		if err != nil {
			return err
		}
		cert, key = issued.Cert, issued.Key
	}
	// All daemons read these files again when they change.
	p.add(File{Path: at.certificate(r), Mode: publicMode, data: cert})
	p.add(File{Path: at.key(r), Mode: keyMode, data: key, Daemons: daemons})
	p.add(File{Path: at.trusted(r), Mode: publicMode, data: c.ca})
	p.add(File{Path: at.revoked(r), Mode: publicMode, data: c.crl})
	shared := []File{{Path: at.ca(), Mode: publicMode, data: c.ca}}
	if r != hosts.NATS && c.tokens != nil {
		shared = append(shared, File{Path: at.tokens(), Mode: keyMode, data: c.tokens, Daemons: true})
	}
	for _, f := range shared {
		if !slices.ContainsFunc(p.Files, func(have File) bool { return have.Path == f.Path }) {
			p.add(f)
		}
	}
	return nil
}

// names returns under which names and addresses others reach a host. Addresses are in the form in
// which a certificate names them, however the inventory writes them.
func names(h *hosts.Host) []string {
	list := []string{h.Address, h.Name, "localhost", "127.0.0.1"}
	for i, name := range list {
		if ip := net.ParseIP(name); ip != nil {
			list[i] = ip.String()
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// kept returns the certificate that an earlier plan has for a daemon, nil when it has none that
// still holds and is for this one.
func (c *certificates) kept(h *hosts.Host, r hosts.Role) (cert, key []byte, err error) {
	own := hostFile(c.folder, h, pathsOf(h).certificate(r))
	known, err := authority.ReadCertificate(own)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil // there is no earlier plan
	case err != nil:
		return nil, nil, err
	}
	subject, named := authority.SubjectOf(known)
	wanted := authority.Subject{Cluster: c.authority.Cluster(), Role: identityOf(r), Name: certificateName(h, r)}
	var has []string
	has = append(has, known.DNSNames...)
	for _, ip := range known.IPAddresses {
		has = append(has, ip.String())
	}
	slices.Sort(has)
	revoked, err := c.authority.Revoked()
	if err != nil {
		return nil, nil, err
	}
	_, gone := revoked[authority.Serial(known)]
	if !named || subject != wanted || gone || !slices.Equal(has, names(h)) || known.CheckSignatureFrom(c.authority.Certificate()) != nil || authority.EndsWithin(known, renewBefore, c.now) {
		return nil, nil, nil //nolint:nilerr // another one is made
	}
	if cert, err = os.ReadFile(own); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(hostFile(c.folder, h, pathsOf(h).key(r)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // it is made again with its key
	}
	if err != nil {
		return nil, nil, err
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return nil, nil, nil //nolint:nilerr // another key, as after a plan that broke off: both are made again
	}
	return cert, key, nil
}
