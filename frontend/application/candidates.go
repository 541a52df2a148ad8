package application

import (
	"cmp"
	"slices"
)

// candidate is a node on which an executor may start.
type candidate struct {
	node string
	free int64 // MB
	own  int   // executors of the application there
	room int   // how many more of them can be of use there
}

// chooseNodes chooses nodes for n executors, one after the other: each is placed on
// the node with the fewest executors of the application, among those on the one with
// the most free memory, then by name. It returns fewer nodes when memory is short.
func chooseNodes(places []candidate, n int, memory int64) (nodes []string) {
	places = slices.Clone(places)
	for range n {
		best := -1
		for i := range places {
			if places[i].free >= memory && places[i].room > 0 && (best < 0 || better(&places[i], &places[best])) {
				best = i
			}
		}
		if best < 0 {
			return nodes
		}
		places[best].free -= memory
		places[best].own++
		places[best].room--
		nodes = append(nodes, places[best].node)
	}
	return nodes
}

func better(a, b *candidate) bool {
	return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(b.free, a.free), cmp.Compare(a.node, b.node)) < 0
}
