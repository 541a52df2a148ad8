package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxShares bounds the shares that an error names; the others are counted.
const maxShares = 5

// Share is the amount of a resource of a node that one user, such as an
// application, holds.
type Share struct {
	Who    string
	Amount int64
}

// Shares lists for an error how much each user holds, the most first, in the unit
// of the amounts: " (app 900 MB, other 50 MB)". It is empty when all is free.
func Shares(list []Share, unit string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(s Share) bool { return s.Amount <= 0 })
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), strings.Compare(a.Who, b.Who))
	})
	var parts []string
	for _, s := range list[:min(len(list), maxShares)] {
		parts = append(parts, fmt.Sprintf("%s %d %s", s.Who, s.Amount, unit))
	}
	if more := len(list) - maxShares; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d others", more))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
