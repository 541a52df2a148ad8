package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Settings, keys and tokens reach a host as an argument that Ansible shows nowhere, and by no module that
// would print them with --diff.
func TestRoleShowsNoSecrets(t *testing.T) {
	module, err := os.ReadFile("../ansible/roles/pigeon/library/pigeon_host.py")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`"contents": \{[^}]*"no_log": True`).Match(module) {
		t.Error("the module's contents of files are not no_log")
	}
	tasks, err := os.ReadFile("../ansible/roles/pigeon/tasks/main.yml")
	if err != nil {
		t.Fatal(err)
	}
	if copies := strings.Count(string(tasks), "ansible.builtin.copy"); copies != 1 {
		t.Errorf("%d tasks copy; only the program may be copied so", copies)
	}
}
