package application

import (
	"cmp"
	"slices"
)

// candidate is a node as the spreading of executors sees it.
type candidate struct {
	node string
	free int64 // MB
	own  int   // executors of the application there
}

// chooseNodes chooses nodes for so many executors, one after the other: each goes to
// the node with the fewest of the application, of those to the one with the most
// free memory, then by name. Fewer are given when there is no room for more.
func chooseNodes(places []candidate, need int, memory int64) (nodes []string) {
	places = slices.Clone(places)
	for range need {
		best := -1
		for i := range places {
			if places[i].free >= memory && (best < 0 || better(&places[i], &places[best])) {
				best = i
			}
		}
		if best < 0 {
			return nodes
		}
		places[best].free -= memory
		places[best].own++
		nodes = append(nodes, places[best].node)
	}
	return nodes
}

func better(a, b *candidate) bool {
	return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(b.free, a.free), cmp.Compare(a.node, b.node)) < 0
}
