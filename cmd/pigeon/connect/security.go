package connect

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// SecurityConfig is how frontends are verified, and how they identify the caller. All verbs
// that connect to a cluster have its flags.
type SecurityConfig struct {
	TokenFile string `mapstructure:"token_file" common:"yes" doc:"file of mode 0600 with the access token that proves who calls; empty: the file token in the folder pigeon of the user's configuration (~/.config/pigeon), if it is there, for clusters on other machines"`
	TLSCA     string `mapstructure:"tls_ca" common:"yes" doc:"file with the certificate (PEM) of the cluster's authority, with which frontends are called by TLS; empty: ca.pem in ~/.config/pigeon or in /etc/pigeon, if it is there, for clusters on other machines"`
	TLSCert   string `mapstructure:"tls_cert" common:"yes" doc:"file with a certificate of this user (PEM), instead of a token"`
	TLSKey    string `mapstructure:"tls_key" common:"yes" doc:"file with the key of tls_cert"`
	Cluster   string `mapstructure:"cluster" common:"yes" doc:"name of the cluster, which the certificates of its frontends have; empty: that of an authority made by 'pigeon pki init', else pigeon"`
}

// systemCA is where the authority of a machine's cluster is for all its users.
const systemCA = "/etc/pigeon/ca.pem"

// maxToken bounds the file of a token: more than a token and a line of comment.
const maxToken = 4096

// Places returns the settings with the files that are used for these frontends: those that are
// named, else those that are in the default places. The latter are for other machines only: on this
// one the kernel identifies the caller, and a pigeon dev here is not the cluster of /etc/pigeon.
func (c SecurityConfig) Places(frontends []string) SecurityConfig {
	if OnLoopback(frontends) {
		return c
	}
	var own string
	if dir, err := os.UserConfigDir(); err == nil {
		own = filepath.Join(dir, "pigeon")
	}
	c.TLSCA = cmp.Or(c.TLSCA, firstFile(filepath.Join(own, "ca.pem"), systemCA))
	if c.TLSCA != "" && c.TLSCert == "" {
		c.TokenFile = cmp.Or(c.TokenFile, firstFile(filepath.Join(own, "token")))
	}
	return c
}

// firstFile returns the first of the paths that there is, "" for none. One below no folder is
// none.
func firstFile(paths ...string) string {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// Open returns how these frontends are called, once all files can be used.
func (c SecurityConfig) Open(frontends []string) (s client.Security, err error) {
	c = c.Places(frontends)
	if c.TokenFile != "" {
		if _, err := ReadToken(c.TokenFile); err != nil {
			return s, err
		}
		if c.TLSCA == "" && !OnLoopback(frontends) {
			return s, &api.Error{
				Problem: api.Invalid, What: "a token is not sent in clear to another machine, where others could read it", Subject: "token file " + c.TokenFile,
				Tried: "preparing calls to " + strings.Join(frontends, ", "), Next: "name the certificate of the cluster's authority with --tls-ca or PIGEON_TLS_CA",
			}
		}
	}
	if c.TLSCA != "" {
		name, err := c.clusterName()
		if err != nil {
			return s, err
		}
		creds, err := credentials.Open(credentials.Options{Cluster: name, CA: c.TLSCA, Cert: c.TLSCert, Key: c.TLSKey})
		if err != nil {
			return s, err
		}
		s = creds.To(identity.Frontend, "")
	}
	if c.TokenFile != "" {
		s.Token = func() (string, error) { return ReadToken(c.TokenFile) } // it may be another one by then
	}
	return s, nil
}

// clusterName returns the cluster whose frontends are called.
func (c SecurityConfig) clusterName() (string, error) {
	if c.Cluster != "" {
		return c.Cluster, nil
	}
	ca, err := authority.ReadCertificate(c.TLSCA)
	if err != nil {
		return "", err
	}
	if name, ours := authority.ClusterOf(ca); ours {
		return name, nil
	}
	return settings.DefaultSettings().Cluster, nil
}

// ReadToken reads the first line of a file that no other user can read.
func ReadToken(path string) (string, error) {
	text, err := files.ReadPrivate(path, "the access token", maxToken)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	first = strings.TrimSpace(first)
	if !tokens.IsToken(first) {
		return "", &api.Error{
			Problem: api.Invalid, What: "its first line is no access token", Subject: path, Tried: "reading the access token",
			Next: "write into it what 'pigeon token create' prints, or use its --out",
		}
	}
	return first, nil
}

// ByKernel is the proof of calls to a frontend of this machine.
const ByKernel = "the kernel, which knows whose process calls on this machine"

// proof returns by what calls to these frontends prove the caller's identity.
func (c SecurityConfig) proof(frontends []string) string {
	c = c.Places(frontends)
	switch {
	case c.TLSCert != "":
		return "the certificate in " + c.TLSCert
	case c.TokenFile != "":
		return "the token in " + c.TokenFile
	case OnLoopback(frontends):
		return ByKernel
	}
	return "nothing: no token file is named (--token-file, PIGEON_TOKEN_FILE)"
}

// ExplainDenied adds to a refusal what only this side knows: how it proved its identity.
func (c *Cluster) ExplainDenied(err error) error {
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Denied {
		return err
	}
	return fmt.Errorf("%w; who calls was proven by %s ('pigeon whoami' shows who that is)", err, c.Proof)
}

// OnLoopback reports whether all addresses are on this machine.
func OnLoopback(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		ip := net.ParseIP(host)
		return err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback())
	})
}

// Absolute returns a path that means the same in every folder.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
