package natsserver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/internal/notice"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Options are the settings of a [Server].
type Options struct {
	Listen        string        `mapstructure:"listen" common:"yes" doc:"host:port where clients reach this server; an empty host is 127.0.0.1, port 0 takes a free one"`
	Name          string        `mapstructure:"name" doc:"name of this server, which no other of its cluster has and which it keeps over restarts; empty: a random one, only without a cluster that keeps anything"`
	ClusterName   string        `mapstructure:"cluster_name" common:"yes" doc:"name of the cluster of NATS servers, the same at all of them; empty: this server is alone"`
	ClusterListen string        `mapstructure:"cluster_listen" common:"yes" doc:"host:port where the other servers of its cluster reach this one"`
	Routes        []string      `mapstructure:"routes" common:"yes" doc:"cluster_listen of all servers of the cluster, its own may be among them; nats-route://user:password@host:port where they want that"`
	JetStream     bool          `mapstructure:"jetstream" common:"yes" doc:"keep leaderships and replicated journals (JetStream), and what others store in streams; without it the server only passes notices on"`
	StoreDir      string        `mapstructure:"store_dir" common:"yes" doc:"folder of what JetStream keeps, this server's alone"`
	MaxStore      int64         `mapstructure:"max_store" doc:"bytes that JetStream keeps at most; beyond it writes are refused"`
	SyncInterval  string        `mapstructure:"sync_interval" doc:"always: what is acknowledged is on the disk; a duration: it is so only after that time, and a loss of power before loses it, for which daemons refuse the server"`
	Election      time.Duration `mapstructure:"election_timeout" doc:"after this long without its leader, up to twice as long by chance, a replica of a stream stands for election; longer on machines whose disks are slow"`
	Monitor       string        `mapstructure:"monitor" doc:"host:port of the server's monitoring (HTTP); empty: none"`
	TLS           string        `mapstructure:"tls" common:"yes" doc:"folder with ca.crt (certificates by which those of clients and other servers must be signed; not read with secret_file), tls.crt (this server's), tls.key, and, where there is one, ca.crl (what is revoked), as 'pigeon pki issue' and Kubernetes name them; empty: no TLS"`
	CA            string        `mapstructure:"tls_ca" doc:"file in place of ca.crt of tls; where tls is empty and this, too, clients and servers are not asked for a certificate"`
	Cert          string        `mapstructure:"tls_cert" doc:"file in place of tls.crt of tls"`
	Key           string        `mapstructure:"tls_key" doc:"file in place of tls.key of tls"`
	CRL           string        `mapstructure:"tls_crl" doc:"file in place of ca.crl of tls, which must be there then"`
	Cluster       string        `mapstructure:"cluster" common:"yes" doc:"name of Pigeon's cluster: of those that tls_ca signs, the certificates of its daemons are admitted, each with the permissions of its role and name"`
	SecretFile    string        `mapstructure:"secret_file" common:"yes" doc:"file of mode 0600 with a secret of 16 bytes or more, which clients have in their URL (nats://SECRET@host:port), and the other servers of the cluster in theirs; not with tls_ca; empty: none"`
	DaemonUsers   []string      `mapstructure:"daemon_users" doc:"users of this machine whose processes are admitted on loopback in addition to this server's own user and root"`
	Insecure      bool          `mapstructure:"insecure" doc:"admit everybody who reaches this server, also off loopback: who does can read what tasks write and stop the cluster"`
	ConfigFile    string        `mapstructure:"server_config" doc:"configuration file of NATS for what has no setting here, such as users and accounts; what is set here replaces what it says; empty: none"`
	// Log is written with the warnings and errors of the server; nil: they are dropped.
	Log *slog.Logger `mapstructure:"-" json:"-"`
}

// Default returns the settings of a server that is alone and keeps nothing.
func Default() Options {
	return Options{Cluster: "pigeon", Listen: "127.0.0.1:4222", MaxStore: defaultMaxStore, SyncInterval: Always, Election: DefaultElection}
}

// inFolder returns the options with the files of the folder TLS where no other is named.
func (o Options) inFolder() Options {
	if o.TLS == "" {
		return o
	}
	o.Cert, o.Key = cmp.Or(o.Cert, filepath.Join(o.TLS, authority.CertFile)), cmp.Or(o.Key, filepath.Join(o.TLS, authority.KeyFile))
	if o.SecretFile == "" {
		o.CA, o.CRL = cmp.Or(o.CA, filepath.Join(o.TLS, authority.TrustFile)), cmp.Or(o.CRL, filepath.Join(o.TLS, authority.RevokedFile))
	}
	return o
}

// Validate names the first setting that cannot work, as a *config.FieldError.
func (o Options) Validate() error {
	o = o.inFolder()
	clustered := o.ClusterListen != "" || o.ClusterName != "" || len(o.Routes) > 0
	d, err := time.ParseDuration(o.SyncInterval)
	closed := o.Insecure || o.ConfigFile != "" // a configuration of NATS may have TLS and users: the server checks it at its start
	return daemon.Check(
		daemon.Refuse("listen", !daemon.IsAddress(o.Listen), "give host:port; port 0 takes a free one"),
		daemon.Refuse("cluster_listen", clustered && !daemon.IsAddress(o.ClusterListen), "give host:port, where the other servers of the cluster reach this one"),
		daemon.Refuse("cluster_name", clustered && o.ClusterName == "" && o.ConfigFile == "", "give the cluster a name, the same at all its servers"),
		daemon.Refuse("name", clustered && o.JetStream && o.Name == "" && o.ConfigFile == "", "give the server a name that no other of its cluster has, and keep it: what it stores belongs to that name"),
		daemon.Refuse("store_dir", o.JetStream && o.StoreDir == "" && o.ConfigFile == "", "name a folder for what JetStream keeps"),
		daemon.Refuse("max_store", o.MaxStore < leastMaxStore, fmt.Sprintf("use %d (16 MiB) or more", leastMaxStore)),
		daemon.Refuse("sync_interval", o.SyncInterval != Always && (err != nil || d <= 0), "use always, or a duration above zero"),
		daemon.Refuse("election_timeout", o.Election < leastElection || o.Election > mostElection, fmt.Sprintf("use %v to %v", leastElection, mostElection)),
		daemon.Refuse("monitor", o.Monitor != "" && !daemon.IsAddress(o.Monitor), "give host:port, or nothing to switch it off"),
		daemon.Refuse("cluster", !daemon.IsName(o.Cluster), daemon.NameRule),
		daemon.Refuse("secret_file", o.SecretFile != "" && (o.CA != "" || o.ConfigFile != ""), "give tls_ca, or a configuration of NATS, or secret_file: one of them says who is admitted"),
		daemon.Refuse("tls_cert", (o.Cert == "") != (o.Key == "") || o.CA != "" && o.Cert == "", "give tls_cert and tls_key, or neither; tls_ca only with them"),
		daemon.Refuse("listen", !closed && o.Cert == "" && !daemon.IsLoopback(o.Listen), "use a loopback address (127.0.0.1), or set tls: everybody on the way could read and change what goes there; insecure: true allows it"),
		daemon.Refuse("cluster_listen", !closed && o.Cert == "" && clustered && !daemon.IsLoopback(o.ClusterListen), "use a loopback address (127.0.0.1), or set tls: everybody on the way could read and change what goes there; insecure: true allows it"),
		daemon.Refuse("tls_ca", !closed && o.CA == "" && o.SecretFile == "" && !daemon.IsLoopback(o.Listen), "set tls, whose ca.crt says which clients are known, or secret_file: the server would admit everybody who reaches it; insecure: true allows it"),
	)
}

// DefaultElection gives a stream another leader about a quarter of a second after its leader's
// machine has died, where the server's own 4 to 9 s would outlast every leadership. Shorter ones
// make candidates collide; longer ones are for machines that write to disks slowly.
const DefaultElection = 150 * time.Millisecond

// Always is the sync interval at which a write is on the disk before it is acknowledged.
const Always = "always"

const (
	defaultMaxStore = 10 << 30 // the server itself has no limit that a small disk survives
	leastMaxStore   = 16 << 20
	leastElection   = 50 * time.Millisecond
	mostElection    = 30 * time.Second
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
	if s.Host, s.Port, err = notice.ServerAddress(o.Listen); err != nil {
		return nil, err
	}
	s.ServerName = cmp.Or(o.Name, s.ServerName)
	s.NoSigs, s.DisableJetStreamBanner = true, true
	s.WriteDeadline, s.PingInterval, s.MaxPingsOut = 2*time.Second, 2*time.Second, 3
	if o.Monitor != "" {
		if s.HTTPHost, s.HTTPPort, err = notice.ServerAddress(o.Monitor); err != nil {
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
	if o.Key != "" {
		if err := files.CheckSecret(o.Key, "the key of the server's certificate"); err != nil {
			return err
		}
	}
	given := &server.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.Key, CaFile: o.CA, Verify: o.CA != "", Timeout: 2}
	config, err := server.GenTLSConfig(given)
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	own := &certificate{cert: o.Cert, key: o.Key}
	config.Certificates, config.GetCertificate, config.GetClientCertificate = nil, own.get, own.forRoutes
	s.TLS, s.TLSConfig, s.TLSVerify, s.TLSTimeout = true, config, o.CA != "", given.Timeout
	if o.CA != "" && !hasOwnUsers(s) {
		s.TLSConfig = askForCertificates(config)
	}
	if o.ClusterListen != "" {
		routes := config.Clone()
		routes.RootCAs = routes.ClientCAs
		s.Cluster.TLSConfig, s.Cluster.TLSTimeout = routes, given.Timeout
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
	if s.Cluster.Host, s.Cluster.Port, err = notice.ServerAddress(o.ClusterListen); err != nil {
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
	if err := files.Keep(abs, files.Private, o.Log, server.JetStreamStoreDir); err != nil {
		return err
	}
	store := filepath.Join(abs, server.JetStreamStoreDir)
	if err := checkStore(store); err != nil {
		return err
	}
	if s.Cluster.Name != "" && ofOneAlone(store) {
		return fmt.Errorf("store_dir %s has the streams of a server that was alone: one of a cluster deletes them, as the cluster does not know them; replicated journals are among them. Start it without a cluster, or give it an empty store_dir if nothing there is needed", abs)
	}
	s.StoreDir, s.JetStream = abs, true
	s.JetStreamMaxStore = cmp.Or(o.MaxStore, s.JetStreamMaxStore, defaultMaxStore)
	s.JetStreamMaxMemory = cmp.Or(s.JetStreamMaxMemory, maxMemory)
	return o.sync(s)
}

// ofOneAlone reports whether a folder has streams, and nothing of the groups with which the servers of a cluster
// replicate. A server of a cluster that switched JetStream off, as on a full disk, has no group of all servers
// there, and still the folder of groups.
func ofOneAlone(folder string) bool {
	streams, err := filepath.Glob(filepath.Join(folder, "*", "streams", "*"))
	_, groups := os.Stat(filepath.Join(folder, "$SYS", "_js_"))
	return err == nil && len(streams) > 0 && errors.Is(groups, fs.ErrNotExist)
}

// checkStore makes the folder in which JetStream keeps its streams, and returns why nothing can be
// written there, which the server itself reports without folder or reason.
func checkStore(folder string) error {
	if err := os.MkdirAll(folder, files.Private); err != nil {
		return fmt.Errorf("JetStream's folder cannot be made: %w", err)
	}
	if err := files.Writable(folder); err != nil {
		return fmt.Errorf("nothing can be written in JetStream's folder: %w", err)
	}
	return nil
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
