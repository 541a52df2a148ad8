package clusters

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// ansibleInventory returns the inventory of Ansible: the hosts in the order of the host inventory, and how
// its key ssh has them reached.
func ansibleInventory(inv *hosts.Inventory) ([]byte, error) {
	vars := map[string]any{
		"pigeon_plan": "{{ inventory_dir }}", "ansible_python_interpreter": "auto_silent",
		"ansible_pipelining": true, // a connection for each task, not four
	}
	for key, value := range map[string]string{"ansible_user": inv.SSH.User, "ansible_ssh_private_key_file": inv.SSH.Key} {
		if value != "" {
			vars[key] = value
		}
	}
	if inv.SSH.Port != 0 {
		vars["ansible_port"] = inv.SSH.Port
	}
	if inv.SSH.Sudo {
		vars["ansible_become"] = true
	}
	var args []string
	if inv.SSH.Config != "" { // ssh itself does not know ~ there
		args = append(args, "-F", strings.Replace(inv.SSH.Config, "~/", "{{ lookup('env', 'HOME') }}/", 1))
	}
	for _, o := range inv.SSH.Options {
		args = append(args, "-o", text.Quote(o))
	}
	if len(args) > 0 {
		vars["ansible_ssh_common_args"] = strings.Join(args, " ")
	}
	list := yaml.Node{Kind: yaml.MappingNode} // a map would lose the order
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		reached := map[string]string{"ansible_host": h.Destination}
		if user, host, is := strings.Cut(h.Destination, "@"); is && !strings.Contains(user, "/") { // a URI stays whole
			reached = map[string]string{"ansible_user": user, "ansible_host": host}
		}
		if h.Prefix != "" {
			reached["pigeon_prefix"] = h.Prefix
		}
		var value yaml.Node
		if err := value.Encode(reached); err != nil {
			return nil, err
		}
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: h.Name}, &value)
	}
	body, err := yaml.Marshal(map[string]any{"all": map[string]any{"vars": vars, "hosts": &list}})
	head := fmt.Sprintf("# The hosts of the cluster %s for the role in deploy/ansible; made by 'pigeon cluster plan' from %s.\n", inv.Cluster, filepath.Base(inv.File()))
	return append([]byte(head), body...), err
}
