package authority

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// NATS is the role of a NATS server. It is in certificates only: a NATS server calls no daemon.
const NATS identity.Role = "nats"

// Client is accepted as another word for the role of a user.
const Client identity.Role = "client"

// scheme begins the URI of a subject.
const scheme = "pigeon"

// Subject is the daemon or user that a certificate names.
type Subject struct {
	Cluster string
	Role    identity.Role
	Name    string // of the person, or of the daemon: a frontend's or node's id, the group of a master
}

// Roles returns the roles that certificates can have.
func Roles() []identity.Role {
	return slices.Concat(identity.Daemons, []identity.Role{NATS}, identity.People)
}

// URI returns pigeon://CLUSTER/ROLE/NAME.
func (s Subject) URI() *url.URL {
	return &url.URL{Scheme: scheme, Host: s.Cluster, Path: "/" + string(s.Role) + "/" + s.Name}
}

// String returns "frontend f0".
func (s Subject) String() string { return string(s.Role) + " " + s.Name }

// distinguished returns the subject as certificates have it in addition to the URI.
func (s Subject) distinguished() pkix.Name {
	return pkix.Name{Organization: []string{s.Cluster}, OrganizationalUnit: []string{string(s.Role)}, CommonName: s.Name}
}

// SubjectOf returns the subject of a certificate; false if no URI names it.
func SubjectOf(c *x509.Certificate) (Subject, bool) {
	for _, u := range c.URIs {
		role, name, found := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		if u.Scheme == scheme && found && name != "" && !strings.Contains(name, "/") {
			return Subject{Cluster: u.Host, Role: identity.Role(role), Name: name}, true
		}
	}
	return Subject{}, false
}

// authorityName begins the common name of an authority that this program made.
const authorityName = "Pigeon authority of "

// ClusterOf returns the cluster of the certificate of an authority; false if Init did not make it.
func ClusterOf(c *x509.Certificate) (string, bool) {
	of := c.Subject.Organization
	if !c.IsCA || len(of) != 1 || c.Subject.CommonName != authorityName+of[0] {
		return "", false
	}
	return of[0], true
}

// clusterShape is what a cluster's name must be to be the host of a URI.
var clusterShape = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$`)

func checkCluster(name string) error {
	if clusterShape.MatchString(name) && len(name) <= 63 {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("the name of the cluster is %q", name), Subject: "new authority", Tried: "making its certificate",
		Next: "use 1 to 63 letters, digits, dots, dashes and underscores, with a letter or digit first and last and beside each dot; it is the setting cluster of the daemons",
	}
}

// check refuses a subject that no certificate can have, and returns it with its role as
// certificates have it.
func (s Subject) check() (Subject, error) {
	if s.Role == Client {
		s.Role = identity.User
	}
	e := &api.Error{Problem: api.Invalid, Subject: fmt.Sprintf("certificate for %q", s.Name), Tried: "issuing it"}
	switch {
	case !slices.Contains(Roles(), s.Role):
		var names []string
		for _, r := range Roles() {
			names = append(names, string(r))
		}
		e.What, e.Next = fmt.Sprintf("there is no role %q", s.Role), "the roles are "+strings.Join(names, ", ")
		return s, e
	case !identity.IsName(s.Name):
		e.What, e.Next = fmt.Sprintf("%q is no name", s.Name), identity.NameRule
		return s, e
	}
	return s, nil
}
