package notice

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/listener"
)

// MaxNotice is the largest notice, bytes; NATS servers refuse more by default.
const MaxNotice = 1 << 20

// startTimeout bounds the start of an embedded server, which normally needs milliseconds.
const startTimeout = 5 * time.Second

// Embedded is a NATS server inside this process, without persistence, clustering
// or any listener but the one for clients. It admits clients that have its secret, which is a
// part of its URL: no other process of the machine reads or sends notices.
type Embedded struct {
	server *server.Server
	secret string
}

// StartEmbedded serves NATS on the address, host:port; an empty host is
// 127.0.0.1 and port 0 picks a free one. The secret is a new one. The error is an *api.Error.
func StartEmbedded(address string) (*Embedded, error) {
	return startEmbedded(address, rand.Text())
}

// StartEmbeddedAs serves NATS under the URL of an embedded server that has ended, for clients
// that have it.
func StartEmbeddedAs(ended string) (*Embedded, error) {
	u, err := url.Parse(ended)
	if err != nil || u.User == nil {
		return nil, startError(Redact(ended), errors.New("it is not the URL of an embedded server"))
	}
	return startEmbedded(u.Host, u.User.Username())
}

func startEmbedded(address, secret string) (*Embedded, error) {
	host, port, err := ServerAddress(address)
	if err != nil {
		return nil, startError(address, err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "pigeon", Host: host, Port: port,
		NoSigs: true, NoLog: true, NoSystemAccount: true,
		Authorization: secret, AuthTimeout: authTimeout,
		MaxPayload: MaxNotice, WriteDeadline: 2 * time.Second,
		PingInterval: 2 * time.Second, MaxPingsOut: 3,
	})
	if err != nil {
		return nil, startError(address, err)
	}
	go s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, startError(address, fmt.Errorf("not ready after %v", startTimeout))
	}
	e := &Embedded{s, secret}
	embedded.Store(e.URL(), s)
	return e, nil
}

// embedded has the servers of this process by their URLs. Clients in this process reach them without a socket:
// file descriptors are the process's too.
var embedded sync.Map

// ownServer is the server of this process that has a URL now.
type ownServer string

// InProcessConn implements nats.InProcessConnProvider.
func (url ownServer) InProcessConn() (net.Conn, error) {
	if s, found := embedded.Load(string(url)); found {
		return s.(*server.Server).InProcessConn() //nolint:forcetypeassert // nothing else is stored
	}
	return nil, errors.New("the embedded server has ended")
}

// authTimeout is how long a client may be connected without the secret, seconds.
const authTimeout = 2

// ServerAddress splits the address of a server, host:port, for its options: an empty host is
// 127.0.0.1, and port 0 takes a free one. It also tries the port: the server would only log that
// it is taken.
func ServerAddress(address string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(address)
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
	l, err := listener.Listen(net.JoinHostPort(host, p))
	if err != nil {
		return "", 0, err
	}
	return host, port, l.Close()
}

func startError(address string, err error) error {
	return &api.Error{
		Problem: api.Internal, Subject: "embedded NATS server on " + address, What: err.Error(),
		Tried: "starting it", Next: "choose another address (port 0 picks a free one) or name an external server",
	}
}

// URL is what clients connect to, with the secret in it: it is for the settings of daemons, and
// goes into no list of processes, log or file that others can read.
func (e *Embedded) URL() string {
	scheme, address, _ := strings.Cut(e.server.ClientURL(), "://")
	return scheme + "://" + e.secret + "@" + address
}

// Close disconnects all clients and returns when the server has stopped. It is safe
// to call twice.
func (e *Embedded) Close() error {
	embedded.CompareAndDelete(e.URL(), e.server)
	e.server.Shutdown()
	e.server.WaitForShutdown()
	return nil
}
