// Package policy is the table of scheduling policies and the one place that
// reads how a user asks for one: NAME[:key=value,...].
package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// entry is a policy and the parameters that mean something to it.
type entry struct {
	policy     sched.Policy
	parameters []parameter
}

// parameter is a key that a user can give, and what its value changes.
type parameter struct {
	key string
	set func(p *sched.Params, value string) error
}

// table lists the policies. A new one is one line here.
func table() []entry {
	return []entry{
		{pigeon.Policy(), []parameter{weight, reserved}},
	}
}

// weight is W of Pigeon's section 3.3.
var weight = parameter{"weight", func(p *sched.Params, value string) (err error) {
	if p.Weight, err = strconv.Atoi(value); err != nil || p.Weight < 0 {
		return fmt.Errorf("use a whole number: 0 (infinite: short tasks always first) or more")
	}
	return nil
}}

// reserved is the share of each group's slots that serve short tasks only.
var reserved = parameter{"reserved", func(p *sched.Params, value string) (err error) {
	if p.Reserved, err = strconv.ParseFloat(value, 64); err != nil || !isShare(p.Reserved) {
		return fmt.Errorf("use a share from 0 to below 1, such as 0.1")
	}
	return nil
}}

func isShare(x float64) bool { return x >= 0 && x < 1 } // not so for NaN

// Names lists the policies.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.policy.Name)
	}
	return names
}

// Configure reads what the user asked for and lays its parameters over p. Every
// fault is told before anything is started, and a misspelt name names the
// nearest that exists.
func Configure(spec string, p sched.Params) (sched.Policy, sched.Params, error) {
	name, list, _ := strings.Cut(spec, ":")
	e, err := find(name)
	if err != nil {
		return sched.Policy{}, p, err
	}
	var given []string
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		switch {
		case pair == "":
			continue
		case !ok:
			return sched.Policy{}, p, fmt.Errorf("policy %s: parameter %q has no value; write %s=VALUE", name, key, key)
		case slices.Contains(given, key):
			return sched.Policy{}, p, fmt.Errorf("policy %s: parameter %q is given twice; leave one out", name, key)
		}
		given = append(given, key)
		if err := e.set(&p, key, value); err != nil {
			return sched.Policy{}, p, err
		}
	}
	return e.policy, p, check(name, p)
}

func find(name string) (entry, error) {
	entries := table()
	for _, e := range entries {
		if e.policy.Name == name {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("policy %q is unknown; did you mean %q? There are %s", name, nearest.Word(name, Names()), strings.Join(Names(), ", "))
}

func (e *entry) set(p *sched.Params, key, value string) error {
	var keys []string
	for _, known := range e.parameters {
		if known.key == key {
			if err := known.set(p, value); err != nil {
				return fmt.Errorf("policy %s: parameter %s=%q: %w", e.policy.Name, key, value, err)
			}
			return nil
		}
		keys = append(keys, known.key)
	}
	return fmt.Errorf("policy %s has no parameter %q; did you mean %q? Its parameters are %s",
		e.policy.Name, key, nearest.Word(key, keys), strings.Join(keys, ", "))
}

// check refuses what came from elsewhere than the specification.
func check(name string, p sched.Params) error {
	switch {
	case p.Weight < 0:
		return fmt.Errorf("policy %s: weight is %d; use 0 (infinite) or more", name, p.Weight)
	case !isShare(p.Reserved):
		return fmt.Errorf("policy %s: reserved is %v; use a share from 0 to below 1", name, p.Reserved)
	case p.Cutoff <= 0:
		return fmt.Errorf("policy %s: the cutoff is %d ns; use a duration above zero", name, p.Cutoff)
	}
	return nil
}
