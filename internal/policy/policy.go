// Package policy is the table of scheduling policies and the one place that
// reads how a user asks for one: NAME[:key=value,...].
package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// table lists the policies, by name.
func table() []sched.Policy { return []sched.Policy{pigeon.Policy()} }

// Names lists the policies.
func Names() []string {
	var names []string
	for _, p := range table() {
		names = append(names, p.Name)
	}
	return names
}

// parameters are the keys that any policy takes and what they change.
func parameters() map[string]func(p *sched.Params, value string) error {
	return map[string]func(p *sched.Params, value string) error{
		"weight": func(p *sched.Params, value string) (err error) {
			p.Weight, err = strconv.Atoi(value)
			return err
		},
		"reserved": func(p *sched.Params, value string) (err error) {
			p.Reserved, err = strconv.ParseFloat(value, 64)
			return err
		},
	}
}

// Configure reads what the user asked for and lays its parameters over p. Every
// fault is told before anything is started, and a misspelt name names the
// nearest that exists.
func Configure(spec string, p sched.Params) (sched.Policy, sched.Params, error) {
	name, list, _ := strings.Cut(spec, ":")
	chosen := sched.Policy{}
	for _, candidate := range table() {
		if candidate.Name == name {
			chosen = candidate
		}
	}
	if chosen.Name == "" {
		return chosen, p, fmt.Errorf("policy %q is unknown; the nearest is %q", name, nearest.Word(name, Names()))
	}
	for _, pair := range strings.Split(list, ",") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		set := parameters()[key]
		if set == nil {
			return chosen, p, fmt.Errorf("policy %s has no parameter %q; the nearest is %q", name, key, nearest.Word(key, keys()))
		}
		if err := set(&p, value); err != nil {
			return chosen, p, fmt.Errorf("policy %s: parameter %s=%q: %w", name, key, value, err)
		}
	}
	return chosen, p, check(chosen, p)
}

func check(chosen sched.Policy, p sched.Params) error {
	switch {
	case p.Weight < 0:
		return fmt.Errorf("policy %s: weight is %d; use 0 (infinite) or more", chosen.Name, p.Weight)
	case !(p.Reserved >= 0 && p.Reserved < 1):
		return fmt.Errorf("policy %s: reserved is %v; use a share from 0 to below 1", chosen.Name, p.Reserved)
	case p.Cutoff <= 0:
		return fmt.Errorf("policy %s: the cutoff is %v ns; use a duration above zero", chosen.Name, p.Cutoff)
	}
	return nil
}

func keys() []string { return slices.Sorted(maps.Keys(parameters())) }
