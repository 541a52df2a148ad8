package clusters

import (
	"net"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// Port is a port on which a daemon of a planned cluster listens.
type Port struct {
	Number int
	Role   hosts.Role
	Key    string // setting that has it
	Caller string // the role that connects to it
	Local  bool   // only processes of the same host reach it
}

// The ports of a planned cluster. Those of published protocols are where applications expect
// them.
const (
	backendPort          = 20501
	masterPort           = 20502
	frontendPort         = 20503
	frontendInternalPort = 20504
	nodeInternalPort     = 20505
	executorPort         = 20506 // in place of backendPort, which then serves the owner of published programs
	nodeHTTP             = 20511
	masterHTTP           = 20512
	frontendHTTP         = 20513
	natsPort             = 4222
	natsClusterPort      = 6222
	natsMonitorPort      = 8222
)

// Ports returns the ports of a planned cluster, as docs/deploy.md lists them.
func Ports() []Port {
	return []Port{
		{frontendPort, hosts.Frontend, "listen", "clients, applications, and other frontends for their pages", false},
		{frontendInternalPort, hosts.Frontend, "internal_listen", "masters, nodes, other frontends", false},
		{masterPort, hosts.Master, "listen", "frontends, nodes, other masters", false},
		{nodeInternalPort, hosts.Node, "internal_listen", "masters, frontends", false},
		{backendPort, hosts.Node, "listen", "backends of applications on the same host", true},
		{executorPort, hosts.Node, "listen", "executors of applications on the same host, where the inventory has published_owner", true},
		{natsPort, hosts.NATS, "listen", "frontends, masters, nodes", false},
		{natsClusterPort, hosts.NATS, "cluster_listen", "the other NATS servers", false},
		{natsMonitorPort, hosts.NATS, "monitor", "Ansible, monitoring of the same host", true},
		{frontendHTTP, hosts.Frontend, "http", "Ansible, monitoring of the same host", true},
		{masterHTTP, hosts.Master, "http", "Ansible, monitoring of the same host", true},
		{nodeHTTP, hosts.Node, "http", "Ansible, monitoring of the same host", true},
	}
}

// at returns host:port.
func at(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// listen returns where a daemon of a host listens: at its address, or at every address where that
// is a name, which may stand for loopback on the host itself.
func listen(h *hosts.Host, port int) string {
	if net.ParseIP(h.Address) == nil {
		return at("0.0.0.0", port)
	}
	return at(h.Address, port)
}

// local returns the address of a port for the processes of the host. Hosts whose addresses are on
// loopback are all on one machine, each at its own.
func local(h *hosts.Host, port int) string {
	if ip := net.ParseIP(h.Address); ip != nil && ip.IsLoopback() {
		return at(h.Address, port)
	}
	return at("127.0.0.1", port)
}
