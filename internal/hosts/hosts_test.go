package hosts

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const three = `
hosts:
  - {name: m1, address: 10.0.0.1, roles: [nats, master, frontend, node], slots: 16}
  - {name: m2, address: 10.0.0.2, roles: [nats, master, frontend, node], slots: 16}
  - name: m3
    roles: [nats, master, frontend, node]
    slots: 16
    ssh: root@m3.example.org
`

func TestThreeHosts(t *testing.T) {
	inv, err := Parse("inventory.yaml", []byte(three))
	if err != nil {
		t.Fatal(err)
	}
	masters, frontends := inv.Standbys()
	if len(inv.Hosts) != 3 || !masters || frontends || len(inv.Groups()) != 1 || len(inv.Groups()[0]) != 3 {
		t.Errorf("%+v", inv)
	}
	if h := inv.Hosts[2]; h.Address != "m3" || h.Destination != "root@m3.example.org" || h.ID != "m3" || h.ServiceManager != Systemd {
		t.Errorf("%+v", h)
	}
}

// A range stands for as many hosts, and their addresses go with it.
func TestRanges(t *testing.T) {
	inv, err := Parse("i.yaml", []byte(`
hosts:
  - {name: m, address: 10.0.0.1, roles: [master, frontend]}
  - {name: "w{008-010}", address: "10.0.1.{8-10}", roles: [node], slots: 4}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range inv.With(Node) {
		got = append(got, h.Name+" "+h.Address)
	}
	if want := "w008 10.0.1.8,w009 10.0.1.9,w010 10.0.1.10"; strings.Join(got, ",") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Each mistake is named with its line, its host and what to do.
func TestMistakes(t *testing.T) {
	host := func(rest string) string {
		return "hosts:\n  - {name: m, address: 10.0.0.1, roles: [master, frontend]}\n  - {name: n, address: 10.0.0.2, roles: [node], slots: 1" + rest + "}\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {"", "no host"},
		"no YAML":             {"hosts: [", "cannot be understood"},
		"two documents":       {three + "---\na: 1\n", "second document"},
		"unknown key":         {"host: []\n", "line 1: key host not found among the keys of an inventory"},
		"unknown key of host": {host(", slot: 3"), "line 3: key slot not found among the keys of a host"},
		"no number":           {strings.Replace(host(""), "slots: 1", "slots: many", 1), "as a whole number"},
		"no slots":            {strings.Replace(host(""), ", slots: 1", "", 1), `i.yaml, line 3, host "n": its node has no number of slots`},
		"negative slots":      {strings.Replace(host(""), "slots: 1", "slots: -1", 1), `i.yaml, line 3, host "n": its node has -1 slots`},
		"owner at a name":     {"published_owner: etl\n" + strings.Replace(host(""), "address: 10.0.0.1", "address: m", 1), `its address "m" is a name`},
		"no owner":            {"published_owner: a//b\n" + host(""), `i.yaml, line 1: the owner of published programs is "a//b"`},
		"unknown role":        {strings.Replace(host(""), "[node]", "[nod]", 1), `did you mean "node"?`},
		"role twice":          {strings.Replace(host(""), "[node]", "[node, node]", 1), "is there twice"},
		"no role":             {strings.Replace(host(""), "[node]", "[]", 1), "no role"},
		"address twice":       {strings.Replace(host(""), "10.0.0.2", "10.0.0.1", 1), `its address "10.0.0.1" is that of i.yaml, line 2, host "m", too`},
		"spelled otherwise":   {strings.Replace(host(""), "10.0.0.2", "\"::ffff:10.0.0.1\"", 1), `is that of i.yaml, line 2, host "m", too`},
		"every address":       {strings.Replace(host(""), "10.0.0.2", "0.0.0.0", 1), "cannot reach it at"},
		"no such address":     {host("") + "  - {name: \"w{001-300}\", address: \"10.0.1.{1-300}\", roles: [node], slots: 1}\n", `i.yaml, line 4, host "w256": "10.0.1.256" is no address`},
		"three numbers":       {strings.Replace(host(""), "10.0.0.2", "10.0.2", 1), `"10.0.2" is no address`},
		"loopback":            {strings.Replace(host(""), "10.0.0.2", "127.0.0.1", 1), "is the host itself"},
		"an option of ssh":    {host(", ssh: -oProxyCommand=x"), "ssh cannot be told"},
		"a space for ssh":     {host(`, ssh: "a b"`), "ssh cannot be told"},
		"unknown manager":     {host(", service_manager: runit"), "use systemd, or none"},
		"prefix with systemd": {host(", prefix: /opt/x"), "systemd reads its units below /etc"},
		"prefix for a shell":  {host(`, service_manager: none, prefix: "/a;b"`), "the prefix is"},
		"group without head":  {host(", group: 1"), "group 1, which has no master"},
		"frontend nowhere":    {host(", frontend: f"), "it names a frontend, and the host has none"},
		"two NATS":            {strings.ReplaceAll(three, "  - name: m3\n    roles: [nats, master, frontend, node]", "  - name: m3\n    roles: [master, frontend, node]"), "2 hosts have the role nats"},
		"standby without":     {strings.ReplaceAll(three, "nats, ", ""), "no host has the role nats"},
		"no frontend":         {strings.Replace(host(""), "[master, frontend]", "[master]", 1), "no host has the role frontend"},
		"gap":                 {strings.Replace(host(""), "frontend]", "frontend], group: 1", 1), "group 0 has no master"},
		"unknown policy":      {"policy: pidgeon\n" + host(""), `i.yaml, line 1: the policy is "pidgeon"`},
		"unknown security":    {"security: none\n" + host(""), "security is"},
		"settings of nobody":  {host(", settings: {nodes: {a: 1}}"), `settings are given for "nodes"`},
		"one master only":     {"policy: hawk\n" + host("") + "  - {name: k, address: 10.0.0.3, roles: [master], group: 1}\n", "one central master"},
		"long range":          {host("") + "  - {name: \"w{1-99999}\", address: \"w{1-99999}\", roles: [node], slots: 1}\n", "more than 20000 hosts"},
		"uneven ranges":       {host("") + "  - {name: \"w{1-3}\", address: \"10.0.1.{1-2}\", roles: [node], slots: 1}\n", "not as long"},
		"backwards":           {host("") + "  - {name: \"w{3-1}\", roles: [node], slots: 1}\n", "ends before it begins"},
	} {
		if _, err := Parse("i.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "i.yaml") {
			t.Errorf("%s: the error is %v, want %q in it", name, err, c.want)
		}
	}
}

// Whatever the file says, it is refused, or every host can be passed to ssh and to the shell.
func FuzzParse(f *testing.F) {
	f.Add([]byte(three))
	f.Add([]byte("hosts:\n  - {name: \"w{1-3}\", roles: [node], slots: 1, prefix: /a}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv, err := Parse("f.yaml", text)
		if err != nil {
			return
		}
		for _, h := range inv.Hosts {
			if strings.HasPrefix(h.Destination, "-") || strings.ContainsAny(h.Destination+h.Prefix, " ;'\"$`\n") {
				t.Errorf("accepted: %+v", h)
			}
		}
	})
}
