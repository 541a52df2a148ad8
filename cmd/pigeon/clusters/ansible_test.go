package clusters

import (
	"strings"
	"testing"
)

// Ansible's inventory has the hosts in their order, and what the key ssh says about reaching them.
func TestAnsibleInventory(t *testing.T) {
	const text = `
cluster: c
ssh: {user: ops, port: 2222, key: ~/.ssh/c, config: ~/ssh.conf, options: ["ProxyJump=gate me"], sudo: true}
hosts:
  - {name: z9, address: 10.0.0.9, roles: [master, frontend]}
  - {name: "a{1-2}", address: "10.0.0.{1-2}", ssh: "root@a{1-2}.example.org", roles: [node], slots: 1}
`
	got, err := ansibleInventory(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	const want = `# The hosts of the cluster c for the role in deploy/ansible; made by 'pigeon cluster plan' from inventory.yaml.
all:
    hosts:
        "z9":
            ansible_host: 10.0.0.9
        "a1":
            ansible_host: a1.example.org
            ansible_user: root
        "a2":
            ansible_host: a2.example.org
            ansible_user: root
    vars:
        ansible_become: true
        ansible_pipelining: true
        ansible_port: 2222
        ansible_python_interpreter: auto_silent
        ansible_ssh_common_args: -F {{ lookup('env', 'HOME') }}/ssh.conf -o 'ProxyJump=gate me'
        ansible_ssh_private_key_file: ~/.ssh/c
        ansible_user: ops
        pigeon_plan: '{{ inventory_dir }}'
`
	if strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
		t.Errorf("the inventory is\n%s", got)
	}
}
