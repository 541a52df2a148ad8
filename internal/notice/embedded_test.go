package notice

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestEmbeddedListensOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		e, err := StartEmbedded(address)
		must(t, err)
		if !strings.HasPrefix(e.URL(), "nats://127.0.0.1:") {
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
	taken := strings.TrimPrefix(e.URL(), "nats://")
	for address, want := range map[string]string{taken: "in use", "no port": "missing port", "127.0.0.1:x": "invalid"} {
		_, err := StartEmbedded(address)
		var parts *api.Error
		if !errors.As(err, &parts) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

func TestInProcess(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	must(t, err)
	defer e.Close()
	o := Options{Embedded: e, Log: slog.New(slog.DiscardHandler)}
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
