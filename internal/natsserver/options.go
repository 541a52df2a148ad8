package natsserver

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options are the settings of a [Server].
type Options struct {
	// Listen is host:port for clients. An empty host is 127.0.0.1, port 0 takes a free one.
	Listen string
	// Name of the server, unique in its cluster; default: of host name and ports.
	Name string

	// ClusterName, ClusterListen and Routes make it one server of a cluster: Routes has
	// nats-route://host:port of the others, its own may be among them.
	ClusterName   string
	ClusterListen string
	Routes        []string

	// JetStream keeps streams and buckets in StoreDir, of at most MaxStore bytes (default
	// 10 GiB; the server itself has no default that a small disk survives).
	JetStream bool
	StoreDir  string
	MaxStore  int64
	// SyncInterval is "always", which is the default, or after how long what was acknowledged
	// is on the disk: what the machine loses with its power until then is lost. Daemons
	// refuse such a server.
	SyncInterval string
	// Election is how long a replica hears nothing of its leader before it stands for election,
	// up to twice that by chance; the same for all servers of a process. Default
	// DefaultElection.
	Election time.Duration

	// Monitor is host:port of the server's monitoring (HTTP); "" for none.
	Monitor string
	// CA, Cert and Key are files by which the server shows who it is to clients and
	// routes, and asks the same of them; "" for none.
	CA, Cert, Key string
	// ConfigFile is a configuration file of NATS for what is not here, such as accounts and
	// users; "" for none. What is given here replaces what it says.
	ConfigFile string
	// Log is called with the warnings and errors of the server; nil: they are dropped.
	Log func(level Level, text string)
}

// DefaultElection gives a stream another leader about half a second after its leader's machine has
// died, where the server's own 4 to 9 s would outlast every leadership. Longer ones are for
// machines that write to disks slowly.
const DefaultElection = 300 * time.Millisecond

// Always is the sync interval at which a write is on the disk before it is acknowledged.
const Always = "always"

const (
	defaultMaxStore = 10 << 30
	maxMemory       = 256 << 20 // of JetStream; nothing of Pigeon is kept in memory
)

// serverOptions translates the options for the library.
func (o Options) serverOptions() (*server.Options, error) {
	s := &server.Options{}
	if o.ConfigFile != "" {
		var err error
		if s, err = server.ProcessConfigFile(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("%s: %w", o.ConfigFile, err)
		}
	}
	var err error
	if s.Host, s.Port, err = address(o.Listen); err != nil {
		return nil, err
	}
	s.ServerName = cmp.Or(o.Name, s.ServerName)
	s.NoSigs, s.DisableJetStreamBanner = true, true
	s.WriteDeadline, s.PingInterval, s.MaxPingsOut = 2*time.Second, 2*time.Second, 3
	if o.Monitor != "" {
		if s.HTTPHost, s.HTTPPort, err = address(o.Monitor); err != nil {
			return nil, err
		}
	}
	if err := o.tls(s); err != nil {
		return nil, err
	}
	if err := o.cluster(s); err != nil {
		return nil, err
	}
	return s, o.jetStream(s)
}

func (o Options) tls(s *server.Options) error {
	if o.Cert == "" && o.Key == "" && o.CA == "" {
		return nil
	}
	files := &server.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.Key, CaFile: o.CA, Verify: o.CA != "", Timeout: 2}
	config, err := server.GenTLSConfig(files)
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	s.TLS, s.TLSConfig, s.TLSVerify, s.TLSTimeout = true, config, o.CA != "", files.Timeout
	if o.ClusterListen != "" {
		routes := config.Clone()
		routes.RootCAs = routes.ClientCAs
		s.Cluster.TLSConfig, s.Cluster.TLSTimeout = routes, files.Timeout
	}
	return nil
}

func (o Options) cluster(s *server.Options) (err error) {
	if o.ClusterListen == "" {
		if o.ClusterName != "" || len(o.Routes) > 0 {
			return errors.New("a cluster needs the address at which its servers reach each other")
		}
		return nil
	}
	if s.Cluster.Host, s.Cluster.Port, err = address(o.ClusterListen); err != nil {
		return err
	}
	if s.Cluster.Name = cmp.Or(o.ClusterName, s.Cluster.Name); s.Cluster.Name == "" {
		return errors.New("a cluster needs a name, the same at all its servers")
	}
	s.Cluster.ConnectBackoff = false
	s.Cluster.PingInterval, s.Cluster.MaxPingsOut = time.Second, 2
	for _, r := range o.Routes {
		if !strings.Contains(r, "://") {
			r = "nats-route://" + r
		}
		u, err := url.Parse(r)
		if err != nil || u.Port() == "" {
			return errors.New("a route is host:port or nats-route://user:password@host:port") // it may have a password
		}
		s.Routes = append(s.Routes, u)
	}
	return nil
}

func (o Options) jetStream(s *server.Options) error {
	if !o.JetStream {
		if o.ConfigFile == "" {
			s.NoSystemAccount = o.ClusterListen == ""
		}
		return nil
	}
	if s.StoreDir = cmp.Or(o.StoreDir, s.StoreDir); s.StoreDir == "" {
		return errors.New("JetStream needs a folder for what it keeps")
	}
	if o.ClusterListen != "" && s.ServerName == "" {
		return errors.New("a server of a cluster with JetStream needs a name, which it keeps over restarts and no other has")
	}
	abs, err := filepath.Abs(s.StoreDir)
	if err != nil {
		return err
	}
	s.StoreDir, s.JetStream = abs, true
	s.JetStreamMaxStore = cmp.Or(o.MaxStore, s.JetStreamMaxStore, defaultMaxStore)
	s.JetStreamMaxMemory = cmp.Or(s.JetStreamMaxMemory, maxMemory)
	return o.sync(s)
}

func (o Options) sync(s *server.Options) error {
	if o.SyncInterval == "" || o.SyncInterval == Always {
		s.SyncAlways, s.SyncInterval = true, 0
		return nil
	}
	d, err := time.ParseDuration(o.SyncInterval)
	if err != nil || d <= 0 {
		return fmt.Errorf("the sync interval %q is neither always nor a duration above zero", o.SyncInterval)
	}
	s.SyncAlways, s.SyncInterval = false, d
	return nil
}

// address also tries the port: the server would only log that it is taken.
func address(text string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, err
	}
	host = cmp.Or(host, "127.0.0.1")
	if port, err = strconv.Atoi(p); err != nil {
		return "", 0, err
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, p))
	if err != nil {
		return "", 0, err
	}
	return host, port, l.Close()
}
