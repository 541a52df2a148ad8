// Package policy is the table of scheduling policies and the one place that
// parses a user's choice of one: NAME[:key=value,...].
package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Names lists the policies.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.name)
	}
	return names
}

// Compared lists the policies of a comparison that names none: the published ones and
// ours.
func Compared() []string {
	var names []string
	for _, e := range table() {
		if !e.apart {
			names = append(names, e.name)
		}
	}
	return names
}

// Grouped lists the policies that have a master for each group of workers.
func Grouped() []string {
	var names []string
	for _, e := range table() {
		build, _ := e.open(&sched.Params{})
		if p := build(); !p.SingleMaster() {
			names = append(names, e.name)
		}
	}
	return names
}

// Configure parses the user's choice and applies its parameters to p. Every
// fault is found before anything is started, and the error for a misspelt name suggests
// the nearest that exists.
func Configure(spec string, p sched.Params) (sched.Policy, sched.Params, error) {
	name, list, _ := strings.Cut(spec, ":")
	e, err := find(name)
	if err != nil {
		return sched.Policy{}, p, err
	}
	build, parameters := e.open(&p)
	var seen []string
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		switch {
		case pair == "":
			continue
		case !ok:
			return sched.Policy{}, p, fmt.Errorf("policy %s: parameter %q has no value; write %s=VALUE", name, key, key)
		case slices.Contains(seen, key):
			return sched.Policy{}, p, fmt.Errorf("policy %s: parameter %q is given twice; leave one out", name, key)
		}
		seen = append(seen, key)
		if err := set(name, parameters, key, value); err != nil {
			return sched.Policy{}, p, err
		}
	}
	return build(), p, check(name, p)
}

func find(name string) (entry, error) {
	entries := table()
	for _, e := range entries {
		if e.name == name {
			return e, nil
		}
	}
	if meant := nearest.Close(name, Names()); meant != "" {
		return entry{}, fmt.Errorf("policy %q is unknown; did you mean %q? There are %s", name, meant, strings.Join(Names(), ", "))
	}
	return entry{}, fmt.Errorf("policy %q is unknown. There are %s", name, strings.Join(Names(), ", "))
}

func set(policy string, parameters []parameter, key, value string) error {
	var keys []string
	for _, known := range parameters {
		if known.key == key {
			if err := known.set(value); err != nil {
				return fmt.Errorf("policy %s: parameter %s=%q: %w", policy, key, value, err)
			}
			return nil
		}
		keys = append(keys, known.key)
	}
	if len(keys) == 0 {
		return fmt.Errorf("policy %s has no parameter %q; it has none at all", policy, key)
	}
	return fmt.Errorf("policy %s has no parameter %q; did you mean %q? Its parameters are %s",
		policy, key, nearest.Word(key, keys), strings.Join(keys, ", "))
}

// check refuses what came from elsewhere than the specification.
func check(name string, p sched.Params) error {
	switch {
	case p.Weight < 0:
		return fmt.Errorf("policy %s: weight is %d; use 0 (infinite) or more", name, p.Weight)
	case !isShare(p.Reserved):
		return fmt.Errorf("policy %s: reserved is %v; use a share from 0 to below 1", name, p.Reserved)
	case p.Cutoff <= 0:
		return fmt.Errorf("policy %s: the cutoff is %v; use a duration above zero", name, time.Duration(p.Cutoff))
	}
	return nil
}
