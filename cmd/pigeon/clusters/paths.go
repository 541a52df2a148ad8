package clusters

import (
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// paths are the folders of a host, below its prefix.
type paths struct{ prefix string }

func pathsOf(h *hosts.Host) paths { return paths{h.Prefix} }

func (p paths) etc() string  { return p.prefix + "/etc/pigeon" }
func (p paths) bin() string  { return p.prefix + "/opt/pigeon/bin" }
func (p paths) run() string  { return p.prefix + "/run/pigeon" }
func (p paths) logs() string { return p.prefix + "/var/log/pigeon" }

// units is where systemd reads the units of a host's owner.
func (p paths) units() string { return "/etc/systemd/system" }

// dropIn is the path of what is added to a unit.
func (p paths) dropIn(unit string) string { return p.units() + "/" + unit + ".d/subgroup.conf" }

func (p paths) lib() string             { return p.prefix + "/var/lib/pigeon" }
func (p paths) data(name string) string { return p.lib() + "/" + name }

func (p paths) program() string  { return p.bin() + "/pigeon" }
func (p paths) service() string  { return p.bin() + "/pigeon-service" }
func (p paths) manifest() string { return p.etc() + "/manifest.json" }

// ca is where people's commands look for the authority.
func (p paths) ca() string     { return p.etc() + "/ca.pem" }
func (p paths) tokens() string { return p.etc() + "/tokens" }

func (p paths) settings(r hosts.Role) string { return p.etc() + "/" + r.Verb() + ".yaml" }

// tls is the folder of a daemon's certificate.
func (p paths) tls(r hosts.Role) string         { return p.etc() + "/tls/" + r.Verb() }
func (p paths) trusted(r hosts.Role) string     { return p.tls(r) + "/" + authority.TrustFile }
func (p paths) certificate(r hosts.Role) string { return p.tls(r) + "/" + authority.CertFile }
func (p paths) key(r hosts.Role) string         { return p.tls(r) + "/" + authority.KeyFile }
func (p paths) revoked(r hosts.Role) string     { return p.tls(r) + "/" + authority.RevokedFile }
