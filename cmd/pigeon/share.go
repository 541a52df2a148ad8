package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// parseShares reads the values of --share.
func parseShares(texts []string) (shares []sched.Share, err error) {
	for _, text := range texts {
		s, err := parseShare(text)
		if err == nil && slices.ContainsFunc(shares, func(o sched.Share) bool { return o.Owner == s.Owner }) {
			err = fmt.Errorf("the owner has a share already")
		}
		if err != nil {
			return nil, fmt.Errorf("--share %s: %w; nothing was run; write OWNER=WEIGHT[,max=0.5][,min=0.1]", text, err)
		}
		shares = append(shares, s)
	}
	return shares, nil
}

func parseShare(text string) (s sched.Share, err error) {
	first, rest, _ := strings.Cut(text, ",")
	at := strings.LastIndexByte(first, '=')
	if at < 1 {
		return s, fmt.Errorf("there is no weight")
	}
	s.Owner = first[:at]
	if err := api.CheckOwner(s.Owner); err != nil {
		return s, err
	}
	if s.Weight, err = strconv.ParseFloat(first[at+1:], 64); err != nil || !(s.Weight > 0) || math.IsInf(s.Weight, 0) {
		return s, fmt.Errorf("the weight %q is no number above 0", first[at+1:])
	}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(part, "=")
		set, known := map[string]*float64{"max": &s.Max, "min": &s.Min}[key]
		if part == "" {
			continue
		}
		if !known {
			return s, fmt.Errorf("it has no key %q; its keys are max and min", key)
		}
		if *set, err = strconv.ParseFloat(value, 64); err != nil || !(*set > 0 && *set <= 1) {
			return s, fmt.Errorf("%s=%s is no share above 0 and up to 1", key, value)
		}
	}
	return s, nil
}
