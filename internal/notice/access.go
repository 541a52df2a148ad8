package notice

import (
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// Access is where NATS servers are and how they admit a client. Its texts may contain
// passwords: only Redacted goes into logs and errors.
type Access struct {
	// URL of the server, nats://host:port, or several with commas between them: those of one
	// cluster; any of them will do. User and password, or a token, may stand before the host.
	URL string
	// Credentials is a file with the user's JWT and seed; "" for none.
	Credentials string
	// CA is a file with the certificates that servers' must be signed by; "" for the machine's.
	CA string
	// Cert and Key are files with the client's certificate and its key; "" for none.
	Cert, Key string
}

// Identified reports whether the servers know clients by a certificate or by credentials, so that
// permissions may depend on the publisher.
func (a Access) Identified() bool { return a.Cert != "" || a.Credentials != "" }

// Redacted returns the URLs without the secrets in them.
func (a Access) Redacted() string { return Redact(a.URL) }

// Redact removes users, passwords and tokens from URLs with commas between them.
func Redact(urls string) string {
	parts := strings.Split(urls, ",")
	for i, p := range parts {
		scheme, rest, found := strings.Cut(p, "://")
		if !found {
			scheme, rest = "", p
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = "***" + rest[at:]
		}
		if parts[i] = rest; found {
			parts[i] = scheme + "://" + rest
		}
	}
	return strings.Join(parts, ",")
}

// Explain returns the text of an error of the library without the secrets of a.
func (a Access) Explain(err error) string {
	text := err.Error()
	for one := range strings.SplitSeq(a.URL, ",") {
		if one = strings.TrimSpace(one); one != "" {
			text = strings.ReplaceAll(text, one, Redact(one))
		}
		_, rest, _ := strings.Cut(one, "://")
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			user, password, named := strings.Cut(rest[:i], ":")
			if !named {
				password = user // a token
			}
			if password != "" {
				text = strings.ReplaceAll(text, password, "***")
			}
		}
	}
	return text
}

// checkSecrets refuses files with secrets that other users may read.
func (a Access) checkSecrets(*nats.Options) error {
	for what, file := range map[string]string{"the credentials for NATS": a.Credentials, "the key for NATS": a.Key} {
		if file == "" {
			continue
		}
		if err := files.CheckSecret(file, what); err != nil {
			return err
		}
	}
	return nil
}

// NATSOptions are the settings of a connection that follow from a.
func (a Access) NATSOptions() (o []nats.Option) {
	o = append(o, a.checkSecrets)
	if a.Credentials != "" {
		o = append(o, nats.UserCredentials(a.Credentials))
	}
	if a.CA != "" {
		o = append(o, nats.RootCAs(a.CA))
	}
	if a.Cert != "" || a.Key != "" {
		o = append(o, nats.ClientCert(a.Cert, a.Key))
	}
	return o
}
