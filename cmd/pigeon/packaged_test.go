package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"go.yaml.in/yaml/v3"
)

// docs/install.md: "As installed, the settings are those of a cluster of one host".
func TestPackagedSettings(t *testing.T) {
	text, err := os.ReadFile("../../packaging/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Settings map[string][]string `yaml:"settings"`
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	written := func(role string) (values map[string]any) {
		if err := yaml.Unmarshal([]byte(succeed(t, append([]string{"config", "write", role}, release.Settings[role]...)...)), &values); err != nil {
			t.Fatal(err)
		}
		return values
	}
	if list, _ := written("client")["frontend"].([]any); !slices.Contains(list, any(frontend.Default().Listen)) {
		t.Errorf("commands call %v, and the frontend serves at %s", list, frontend.Default().Listen)
	}
	var ports []string
	for _, role := range []string{"frontend", "master", "nodemonitor"} {
		v := written(role)
		http, _ := v["http"].(string)
		if strings.HasSuffix(http, ":0") || slices.Contains(ports, http) {
			t.Errorf("the http address of the %s is %q", role, http)
		}
		if ports = append(ports, http); v["policy"] != "pigeon-x" {
			t.Errorf("the policy of the %s is %v", role, v["policy"])
		}
	}
	if n := nodemonitor.Default().Named().Slots; written("nodemonitor")["slots"] != -1 || n != runtime.NumCPU() {
		t.Errorf("a node has %d slots, of %d processors", n, runtime.NumCPU())
	}
}
