package credentials

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// scheme begins the URIs in certificates of Pigeon.
const scheme = "pigeon"

// maxName bounds a name in a certificate, bytes.
const maxName = 128

// URI returns the name of a certificate as it appears among its alternative names.
func URI(cluster string, role identity.Role, name string) *url.URL {
	return &url.URL{Scheme: scheme, Host: cluster, Path: "/" + string(role) + "/" + name, RawPath: "/" + string(role) + "/" + url.PathEscape(name)}
}

// Named returns the principal that a certificate names in a cluster: by its URI
// pigeon://CLUSTER/ROLE/NAME, else by its subject, O=CLUSTER, OU=ROLE, CN=NAME. It does not
// verify the certificate.
func Named(cert *x509.Certificate, cluster string) (identity.Principal, error) {
	of, role, name, err := Parts(cert)
	r := identity.Role(role)
	switch {
	case err != nil:
		return identity.Principal{}, err
	case of != cluster:
		return identity.Principal{}, fmt.Errorf("it is of the cluster %q, and this is %q", of, cluster)
	case !r.IsPerson() && !r.IsDaemon():
		return identity.Principal{}, fmt.Errorf("it names the role %q; a certificate has one of %v or %v", role, identity.People, identity.Daemons)
	case !isName(name):
		return identity.Principal{}, fmt.Errorf("it has the name %q; a name has 1 to %d bytes, all of them printable", name, maxName)
	}
	return identity.Principal{Name: name, Role: r, Proof: identity.Certificate, Credential: serial(cert), Expires: cert.NotAfter}, nil
}

// serial returns the id of a certificate for people and logs.
func serial(cert *x509.Certificate) string {
	if cert.SerialNumber == nil {
		return ""
	}
	return cert.SerialNumber.Text(16)
}

// Parts returns the cluster, the role and the name that a certificate states, whatever they are. It does not
// verify the certificate.
func Parts(cert *x509.Certificate) (cluster, role, name string, err error) {
	var own []*url.URL
	for _, u := range cert.URIs {
		if u.Scheme == scheme {
			own = append(own, u)
		}
	}
	switch len(own) {
	case 0:
		s := cert.Subject
		if len(s.Organization) != 1 || len(s.OrganizationalUnit) != 1 || s.CommonName == "" {
			return "", "", "", errors.New("it has neither a URI pigeon://CLUSTER/ROLE/NAME nor a subject O=CLUSTER, OU=ROLE, CN=NAME")
		}
		return s.Organization[0], s.OrganizationalUnit[0], s.CommonName, nil
	case 1:
		return partsOfURI(own[0])
	}
	return "", "", "", fmt.Errorf("it has %d URIs that begin with pigeon://, and may have one", len(own))
}

func partsOfURI(u *url.URL) (cluster, role, name string, err error) {
	path := strings.Split(u.EscapedPath(), "/")
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || u.Port() != "" || len(path) != 3 || path[0] != "" {
		return "", "", "", fmt.Errorf("its URI %q is not pigeon://CLUSTER/ROLE/NAME", u.Redacted())
	}
	if name, err = url.PathUnescape(path[2]); err != nil {
		return "", "", "", fmt.Errorf("its URI %q is not pigeon://CLUSTER/ROLE/NAME", u.Redacted())
	}
	return u.Host, path[1], name, nil
}

// isName reports whether a daemon or a person can have the name.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
