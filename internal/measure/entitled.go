package measure

import (
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// tree is the tree of owners, as their paths and the configured shares make it.
type tree struct {
	nodes  []treeNode
	leaves []int // the node of each owner
}

type treeNode struct {
	weight   float64
	children []int
	owner    int  // the owner whose own jobs it represents, -1 for none
	active   bool // it, or one below it, has a part
}

func newTree(owners []string, shares []sched.Share) *tree {
	t := &tree{nodes: []treeNode{{weight: 1, owner: -1}}}
	weights := map[string]float64{}
	for i := range shares {
		weights[shares[i].Owner] = shares[i].Weight
	}
	places := map[string]int{"": 0}
	for k, owner := range owners {
		at := 0
		for end := range pathEnds(owner) {
			path := owner[:end]
			if _, known := places[path]; !known {
				weight, ok := weights[path]
				if !ok {
					weight = 1
				}
				places[path] = t.add(at, weight, -1)
			}
			at = places[path]
		}
		// The owner's own jobs are siblings of the owners below it.
		t.leaves = append(t.leaves, t.add(at, 1, k))
	}
	return t
}

// pathEnds yields the lengths of the paths that lead to an owner: "a", "a/b".
func pathEnds(owner string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range len(owner) {
			if owner[i] == '/' && !yield(i) {
				return
			}
		}
		if owner != "" {
			yield(len(owner))
		}
	}
}

func (t *tree) add(parent int, weight float64, owner int) int {
	t.nodes = append(t.nodes, treeNode{weight: weight, owner: owner})
	at := len(t.nodes) - 1
	t.nodes[parent].children = append(t.nodes[parent].children, at)
	return at
}

// entitle calls each with the fraction that every owner of the set has when the
// weights divide the whole among them.
func (t *tree) entitle(in func(owner int) bool, each func(owner int, fraction float64)) {
	t.activate(0, in)
	t.divide(0, 1, each)
}

func (t *tree) activate(at int, in func(int) bool) bool {
	n := &t.nodes[at]
	n.active = n.owner >= 0 && in(n.owner)
	for _, c := range n.children {
		n.active = t.activate(c, in) || n.active
	}
	return n.active
}

func (t *tree) divide(at int, fraction float64, each func(int, float64)) {
	n := &t.nodes[at]
	if n.owner >= 0 {
		each(n.owner, fraction)
		return
	}
	sum := 0.0
	for _, c := range n.children {
		if t.nodes[c].active {
			sum += t.nodes[c].weight
		}
	}
	for _, c := range n.children {
		if t.nodes[c].active {
			t.divide(c, fraction*t.nodes[c].weight/sum, each)
		}
	}
}

// weightOf is the product of the weights on the owner's path.
func weightOf(owner string, shares []sched.Share) float64 {
	product := 1.0
	for i := range shares {
		if p := shares[i].Owner; p == owner || strings.HasPrefix(owner, p+"/") {
			product *= shares[i].Weight
		}
	}
	return product
}
