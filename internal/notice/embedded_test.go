package notice

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestEmbeddedListensOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		e, err := StartEmbedded(address)
		must(t, err)
		if !strings.HasPrefix(Redact(e.URL()), "nats://***@127.0.0.1:") {
			t.Errorf("%s is served as %s", address, e.URL())
		}
		must(t, e.Close())
		must(t, e.Close())
	}
}

func TestEmbeddedStartErrors(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	defer e.Close()
	_, taken, _ := strings.Cut(e.URL(), "@")
	for address, want := range map[string]string{taken: "in use", "no port": "missing port", "127.0.0.1:x": "invalid"} {
		_, err := StartEmbedded(address)
		var parts *api.Error
		if !errors.As(err, &parts) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

// A client without the secret of this server is refused, whatever else it sends: it reads
// nothing and publishes nothing.
func TestStrangersAreRefused(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	defer e.Close()
	other, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	defer other.Close()
	_, address, _ := strings.Cut(e.URL(), "@")
	for name, url := range map[string]string{
		"none": "nats://" + address, "empty": "nats://@" + address, "wrong": "nats://guess@" + address,
		"another server's": "nats://" + other.secret + "@" + address, "a user": "nats://root:" + e.secret + "@" + address,
	} {
		nc, err := nats.Connect(url, nats.NoReconnect())
		if err == nil {
			nc.Close()
			t.Errorf("a client with the secret %q was admitted", name)
		} else if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that is started again under its URL is the same one to its clients.
func TestEmbeddedAgain(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	url := e.URL()
	must(t, e.Close())
	e, err = StartEmbeddedAs(url)
	must(t, err)
	defer e.Close()
	nc, err := nats.Connect(url, nats.NoReconnect())
	must(t, err)
	nc.Close()
	if _, err := StartEmbeddedAs("nats://127.0.0.1:4222"); err == nil {
		t.Error("a URL without a secret is accepted")
	}
}

func TestInProcess(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	defer e.Close()
	o := Options{Access: Access{URL: e.URL()}, Log: slog.New(slog.DiscardHandler)}
	from, err := Connect(o)
	must(t, err)
	defer from.Close()
	to, err := Connect(o)
	must(t, err)
	defer to.Close()
	got, take := texts()
	must(t, to.Subscribe("s", take))
	must(t, from.Publish("s", []byte("hello")))
	await(t, "notice", got, "hello")
}
