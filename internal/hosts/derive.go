package hosts

import (
	"maps"
	"slices"
)

// Derive returns a copy of the inventory that was changed, checked as one that was read.
func (inv *Inventory) Derive(change func(*Inventory)) (*Inventory, error) {
	own := *inv
	own.Settings, own.Hosts = inv.Settings.clone(), slices.Clone(inv.Hosts)
	for i := range own.Hosts {
		h := &own.Hosts[i]
		h.Roles, h.Settings = slices.Clone(h.Roles), h.Settings.clone()
	}
	change(&own)
	own.complete()
	return &own, own.check()
}

func (s Settings) clone() Settings {
	own := make(Settings, len(s))
	for section, values := range s {
		own[section] = maps.Clone(values)
	}
	return own
}

// Set sets a setting of a role, or of AllRoles.
func (s Settings) Set(section, key string, value any) {
	if s[section] == nil {
		s[section] = map[string]any{}
	}
	s[section][key] = value
}
