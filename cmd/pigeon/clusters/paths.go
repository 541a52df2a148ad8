package clusters

import "github.com/pigeon-sched/pigeon/internal/hosts"

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

func (p paths) ca() string     { return p.etc() + "/ca.pem" }
func (p paths) crl() string    { return p.etc() + "/crl.pem" }
func (p paths) tokens() string { return p.etc() + "/tokens" }

func (p paths) settings(r hosts.Role) string    { return p.etc() + "/" + r.Verb() + ".yaml" }
func (p paths) certificate(r hosts.Role) string { return p.etc() + "/" + r.Verb() + ".pem" }
func (p paths) key(r hosts.Role) string         { return p.etc() + "/" + r.Verb() + ".key" }
