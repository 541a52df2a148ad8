package simulation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// ShareFlag is the flag of one owner's share.
const ShareFlag = "share"

// readShares reads the shares from the file or the flags.
func (e *Flags) readShares(d *experiment.Description) (err error) {
	if d.OwnersFile == "" {
		d.Shares, err = ParseShares(e.shares)
		return err
	}
	if len(e.shares) > 0 || e.Set.Changed("half-life") {
		return fmt.Errorf("--owners-file %s is set with --share or --half-life; nothing was run; write all into the file", d.OwnersFile)
	}
	f, err := owners.Load(d.OwnersFile)
	if err != nil {
		return fmt.Errorf("--owners-file: %w; nothing was run", err)
	}
	d.Shares, d.HalfLife = f.Shares.Message().More.Shares, f.HalfLife
	return nil
}

// ParseShares reads the values of --share.
func ParseShares(texts []string) (list []sched.Share, err error) {
	const form = "nothing was run; write OWNER=WEIGHT[,max=0.5][,min=0.1]"
	for _, text := range texts {
		s, err := parseShare(text)
		if err != nil {
			return nil, fmt.Errorf("--share %s: %w; %s", text, err, form)
		}
		list = append(list, s)
	}
	if err := shares.Check(list); err != nil {
		return nil, fmt.Errorf("--share: %w; %s", err, form)
	}
	return list, nil
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
	if s.Weight, err = strconv.ParseFloat(first[at+1:], 64); err != nil {
		return s, fmt.Errorf("the weight %q is no number", first[at+1:])
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
		if *set, err = strconv.ParseFloat(value, 64); err != nil {
			return s, fmt.Errorf("%s=%s is no number", key, value)
		}
	}
	return s, nil
}
