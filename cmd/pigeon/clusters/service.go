package clusters

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/packaging"
)

// script starts daemons where there is no service manager.
//
//go:embed service.sh
var script string

// daemonUser is the user of frontends, masters and NATS servers under systemd.
const daemonUser = "pigeon"

// unitOf returns the name of a daemon at what starts it.
func unitOf(h *hosts.Host, r hosts.Role) string {
	if h.ServiceManager == hosts.Systemd {
		return "pigeon-" + string(r) + ".service"
	}
	return r.Verb()
}

// addManager adds what starts the daemons of a host.
func (p *HostPlan) addManager() {
	at := pathsOf(p.Host)
	if p.Host.ServiceManager != hosts.Systemd {
		text := strings.NewReplacer("@program@", at.program(), "@service@", at.service(), "@etc@", at.etc(), "@run@", at.run(), "@logs@", at.logs()).Replace(script)
		p.add(File{Path: at.service(), Mode: programMode, data: []byte(text)})
		return
	}
	for _, s := range p.Services {
		text := strings.ReplaceAll(packaging.Unit(s.Unit), packaging.Program, at.program())
		p.add(File{Path: at.units() + "/" + s.Unit, Mode: publicMode, Of: []hosts.Role{s.Role}, data: []byte(text)})
		if s.Role == hosts.Node { // the next process starts beside the control groups of tasks that run on
			p.add(File{Path: at.dropIn(s.Unit), Mode: publicMode, Of: []hosts.Role{s.Role}, data: []byte(packaging.Subgroup)})
		}
	}
}

// commands are the shell's words by which the daemons of a host are started and stopped.
type commands struct{ h *hosts.Host }

func (c commands) systemd() bool { return c.h.ServiceManager == hosts.Systemd }

// own returns a command of the script.
func (c commands) own(verb string, s Service) string {
	return fmt.Sprintf("%s %s %s", pathsOf(c.h).service(), verb, s.Unit)
}

func (c commands) choose(s Service, systemd, verb string) string {
	if c.systemd() {
		return fmt.Sprintf(systemd, s.Unit)
	}
	return c.own(verb, s)
}

func (c commands) start(s Service) string {
	return c.choose(s, "systemctl enable -q --now %s", "start")
}

// stop does nothing for a daemon that is not there any more.
func (c commands) stop(s Service) string {
	if c.systemd() {
		return fmt.Sprintf("{ systemctl disable -q --now %[1]s 2>/dev/null || ! systemctl is-active -q %[1]s; }", s.Unit)
	}
	return fmt.Sprintf("{ [ ! -x %s ] || %s; }", pathsOf(c.h).service(), c.own("stop", s))
}

// again restarts a daemon; a node monitor leaves its running attempts to its next process.
func (c commands) again(s Service) string {
	if s.Role == hosts.Node {
		return c.choose(s, "systemctl reload %s", "reload")
	}
	return c.choose(s, "systemctl restart %s", "restart")
}

// pid prints the number of the daemon's process, nothing or 0 when it does not run.
func (c commands) pid(s Service) string {
	return c.choose(s, "systemctl show -p MainPID --value %s", "pid")
}

// ended succeeds when the daemon has ended and nothing will start it again, as after a mistake in
// its settings.
func (c commands) ended(s Service) string {
	return c.choose(s, "systemctl is-failed -q %s", "ended")
}

// log prints the end of a daemon's log.
func (c commands) log(s Service) string {
	return c.choose(s, "journalctl -u %s -n 5 --no-pager -o cat", "log")
}

// account makes the user of the daemons, where they have their own.
func (c commands) account() string {
	if !c.systemd() {
		return ":"
	}
	return fmt.Sprintf("getent passwd %[1]s >/dev/null || { getent group %[1]s >/dev/null || groupadd --system %[1]s; useradd --system --gid %[1]s --home-dir /var/lib/pigeon --no-create-home --shell /usr/sbin/nologin %[1]s; }", daemonUser)
}

// reread makes the service manager read its units again.
func (c commands) reread() string {
	if !c.systemd() {
		return ":"
	}
	return "systemctl daemon-reload"
}

// noAccount removes the user of the daemons.
func (c commands) noAccount() string {
	if !c.systemd() {
		return ":"
	}
	return fmt.Sprintf("{ ! getent passwd %[1]s >/dev/null || userdel %[1]s; }; { ! getent group %[1]s >/dev/null || groupdel %[1]s; }", daemonUser)
}
