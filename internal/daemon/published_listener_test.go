package daemon_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

func TestPublishedFault(t *testing.T) {
	right := daemon.PublishedListener{Address: "0.0.0.0:20503", Owner: "team/etl"}
	if fault := (daemon.PublishedSettings{PublishedListen: []daemon.PublishedListener{right}}).PublishedFault(); fault != "" {
		t.Error(fault)
	}
	for want, wrong := range map[string]daemon.PublishedListener{
		"entry 2 has the address": {Address: "nowhere", Owner: "etl"},
		"names no owner":          {Address: "127.0.0.1:0"},
		"level 2 is empty":        {Address: "127.0.0.1:0", Owner: "team/"},
	} {
		if fault := (daemon.PublishedSettings{PublishedListen: []daemon.PublishedListener{right, wrong}}).PublishedFault(); !strings.Contains(fault, want) {
			t.Errorf("%+v: %q", wrong, fault)
		}
	}
	if fault := (daemon.PublishedSettings{PublishedListen: make([]daemon.PublishedListener, 101)}).PublishedFault(); !strings.Contains(fault, "limit of 100") {
		t.Error(fault)
	}
}

// Each entry has its own address, and one that is taken is an error that names it.
func TestListenPublished(t *testing.T) {
	l := daemon.New("frontend", slog.New(slog.DiscardHandler))
	defer l.Close()
	two := []daemon.PublishedListener{{Address: "127.0.0.1:0", Owner: "a"}, {Address: "127.0.0.1:0", Owner: "b"}}
	addresses, err := l.ListenPublished(two, echo, server.Options{Name: "service"}, "SchedulerService")
	if err != nil || len(addresses) != 2 || addresses[0] == addresses[1] {
		t.Fatalf("%v, %v", addresses, err)
	}
	_, err = l.ListenPublished([]daemon.PublishedListener{{Address: addresses[0], Owner: "c"}}, echo, server.Options{Name: "service"}, "SchedulerService")
	if err == nil || !strings.Contains(err.Error(), addresses[0]) || !strings.Contains(err.Error(), `owner "c"`) {
		t.Error(err)
	}
}
