package clusters

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ansible-playbook --diff prints the files that it copies: not those with keys, tokens and settings,
// which a plan closes to others.
func TestAnsibleShowsNoSecrets(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/ansible/roles/pigeon/tasks/main.yml")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []map[string]any
	if err := yaml.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	copies := 0
	for _, task := range tasks {
		if loop, _ := task["loop"].(string); !strings.Contains(loop, "pigeon_manifest.files }}") {
			continue
		}
		copies++
		if diff, _ := task["diff"].(string); !strings.Contains(diff, fmt.Sprintf("item.mode != %d and", keyMode)) {
			t.Errorf("the task %q shows files of mode %v: its diff is %q", task["name"], keyMode, diff)
		}
	}
	if copies != 1 {
		t.Errorf("%d tasks copy the files of the plan", copies)
	}
}
