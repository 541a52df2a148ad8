package cluster

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// Daemons that may be of an earlier version are given only settings that the oldest version knows
// which is started so: the negative control of bench chaos.
func TestSettingsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/earlier-settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(text), "\n")
	s := &Spec{Groups: []int{2, 2}, Slots: 2, Frontends: 2, Policy: "pigeon", Reserved: 0.25, Cutoff: time.Second, Seed: 7, History: true, HTTP: true, Command: []string{"pigeon"}, Earlier: true}
	p := places{dir: "dir", nats: "nats://127.0.0.1:4222", masters: []string{"127.0.0.1:1", "127.0.0.1:2"}}
	var f, m, n bytes.Buffer
	for _, err := range []error{
		config.WriteChanged(&f, "frontend", s.frontend(p, 1), frontend.Default()),
		config.WriteChanged(&m, "master", s.master(p, 1, "127.0.0.1:2", ""), master.Default()),
		config.WriteChanged(&n, "node", s.node(p, 1, 1, "127.0.0.2"), nodemonitor.Default()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	key := regexp.MustCompile(`(?m)^([a-z_]+):`)
	for role, written := range map[Role]string{Frontend: f.String(), Master: m.String(), NodeMonitor: n.String()} {
		keys := key.FindAllStringSubmatch(written, -1)
		if len(keys) < 3 {
			t.Errorf("%s has the settings %v", role, keys)
		}
		for _, k := range keys {
			if !slices.Contains(known, string(role)+" "+k[1]) {
				t.Errorf("%s is given the setting %s, which an earlier version does not know", role, k[1])
			}
		}
	}
}
