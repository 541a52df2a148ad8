package clusters

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ansibleTasks returns the tasks of a file of the Ansible role.
func ansibleTasks(t *testing.T, file string) (tasks []map[string]any) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/ansible/roles/pigeon/tasks/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	return tasks
}

// ansible-playbook --diff prints the files that it copies: not those with keys, tokens and settings,
// which a plan closes to others.
func TestAnsibleShowsNoSecrets(t *testing.T) {
	copies := 0
	for _, task := range ansibleTasks(t, "main.yml") {
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

// The Ansible role removes nothing. Daemons and files that the plan does not have any more stay in the
// host's list, by which 'pigeon cluster' stops and removes them.
func TestAnsibleForgetsNothing(t *testing.T) {
	with := map[string]int{}
	for _, task := range ansibleTasks(t, "finish.yml") {
		do, _ := task["ansible.builtin.copy"].(map[string]any)
		if dest, _ := do["dest"].(string); !strings.HasSuffix(dest, "/etc/pigeon/manifest.json") {
			continue
		}
		when, _ := task["when"].(string)
		with[when]++
		content, _ := do["content"].(string)
		if all := strings.Contains(content, "pigeon_other_services") && strings.Contains(content, "pigeon_other_files"); all == strings.HasSuffix(when, "== []") {
			t.Errorf("the task %q writes %v when %s", task["name"], do, when)
		}
	}
	const other = "pigeon_other_services + pigeon_other_files "
	if len(with) != 2 || with[other+"== []"] != 1 || with[other+"!= []"] != 1 {
		t.Errorf("the list is written when %v", with)
	}
}
