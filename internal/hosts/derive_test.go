package hosts

import "testing"

// TestDerive: a copy is checked, and nothing of the original changes.
func TestDerive(t *testing.T) {
	const text = "hosts:\n  - {name: a, address: 10.0.0.1, roles: [master, frontend, node], slots: 2, settings: {node: {stop_wait: 5s}}}\n"
	inv, err := Parse("inventory.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	own, err := inv.Derive(func(own *Inventory) {
		own.Policy = "sparrow"
		own.Settings.Set(AllRoles, "cutoff", "2s")
		own.Hosts[0].Settings.Set("node", "stop_wait", "1s")
		own.Hosts[0].Roles[0] = NATS
		own.Hosts[0].Roles[0] = Master
	})
	if err != nil || own.Policy != "sparrow" || own.Settings[AllRoles]["cutoff"] != "2s" || own.Hosts[0].Settings["node"]["stop_wait"] != "1s" {
		t.Errorf("%+v, %v", own, err)
	}
	if inv.Policy != "pigeon-x" || len(inv.Settings) != 0 || inv.Hosts[0].Settings["node"]["stop_wait"] != "5s" {
		t.Errorf("the original changed: %+v", inv)
	}
	if _, err := inv.Derive(func(own *Inventory) { own.Hosts[0].Slots = -1 }); err == nil {
		t.Error("a node with a negative number of slots was accepted")
	}
}
