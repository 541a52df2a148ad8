package hosts

import (
	"fmt"
	"regexp"
	"strconv"
)

// maxHosts bounds a cluster; a mistyped range is refused instead of filling the memory.
const maxHosts = 20_000

var rangeShape = regexp.MustCompile(`\{(\d{1,9})-(\d{1,9})\}`)

// numbers is a range in a text, such as {001-120}.
type numbers struct {
	from, to, digits int
	is               bool
}

func numbersIn(text string) (n numbers, err error) {
	all := rangeShape.FindAllStringSubmatch(text, -1)
	switch len(all) {
	case 0:
		return n, nil
	case 1:
	default:
		return n, fmt.Errorf("%q has %d ranges", text, len(all))
	}
	n.is, n.digits = true, len(all[0][1])
	n.from, _ = strconv.Atoi(all[0][1]) // of at most nine digits
	n.to, _ = strconv.Atoi(all[0][2])
	if n.count() < 1 {
		return n, fmt.Errorf("the range in %q ends before it begins", text)
	}
	return n, nil
}

func (n numbers) count() int { return n.to - n.from + 1 }

// at returns a text with the i-th number of its range, and with as many digits as the first.
func (n numbers) at(text string, i int) string {
	if !n.is {
		return text
	}
	number := fmt.Sprintf("%0*d", n.digits, n.from+i)
	at := rangeShape.FindStringIndex(text)
	return text[:at[0]] + number + text[at[1]:]
}

// expand writes hosts with a range in their name ("w{001-120}") out: one host for each number.
// The ranges in address, ssh and frontend go with it and are as long.
func (inv *Inventory) expand() error {
	var all []Host
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		texts := []struct {
			key, text string
		}{{"name", h.Name}, {"address", h.Address}, {"ssh", h.Destination}, {"frontend", h.ID}}
		var ranges [4]numbers
		for k, t := range texts {
			n, err := numbersIn(t.text)
			if err != nil {
				return inv.Fault(h, t.key, err.Error(), "write one range, as in w{001-120}")
			}
			if ranges[k] = n; n.is && (!ranges[0].is || n.count() != ranges[0].count()) {
				return inv.Fault(h, t.key, fmt.Sprintf("the range in %q is not as long as one in the name", t.text), "give name a range of the same length: each number is one host")
			}
		}
		count := 1
		if ranges[0].is {
			count = ranges[0].count()
		}
		if len(all)+count > maxHosts {
			return inv.Fault(h, "name", fmt.Sprintf("with it there are more than %d hosts, the limit of an inventory", maxHosts), "correct the range")
		}
		for k := range count {
			one := *h
			one.Name, one.Address, one.Destination, one.ID = ranges[0].at(h.Name, k), ranges[1].at(h.Address, k), ranges[2].at(h.Destination, k), ranges[3].at(h.ID, k)
			all = append(all, one)
		}
	}
	inv.Hosts = all
	return nil
}
