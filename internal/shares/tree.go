package shares

import (
	"math"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Tree is the owners of a master and what each has used. Those that neither have a task
// nor a share are forgotten (idle.go).
type Tree struct {
	root    *Node
	watcher Watcher
	workers int     // of the group
	named   []*Node // by shares, in their order
	limited []*Node // those of named with a max or a min
	freed   bool    // a node fell below its max
	memory  memory
	idle    []*Node // without a task, in order of the last one's end
}

// Node is an owner: a leaf of the tree, whose tasks wait and run, or an inner node, which
// stands for the owners below it. There may be one for each user: it is 128 bytes.
type Node struct {
	path    string
	parent  *Node
	inner   *inner                       // nil for a leaf without a share
	Waits   any                          // for the watcher: where tasks of the node wait
	tag     [sched.NumClasses]float64    // virtual time of its next task, in nanoseconds
	ahead   [sched.NumClasses]sched.Time // charged for tasks that have not ended
	used    [sched.NumClasses]sched.Time
	mean    [sched.NumClasses]float32 // nanoseconds of a task, lately
	waiting [sched.NumClasses]int32
	running [sched.NumClasses]int32
	refs    int32 // jobs, children, and one for a share
	capped  bool  // it runs as much as its max
	below   bool  // it runs less than its min
	listed  bool  // among the idle
}

// inner is what a leaf without a share does not need.
type inner struct {
	children []*Node // by path, without own
	own      *Node   // the leaf of the tasks of the node itself, which has children as well

	// Of what its children do.
	now    [sched.NumClasses]float64 // virtual time
	most   [sched.NumClasses]float64 // of all tags that there were
	active int64                     // weights of the children that wait or run

	share   *sched.Share // nil: none
	weight  int64        // in millionths
	limit   int32        // workers by max, 0: no limit
	minimum int32        // workers by min
}

// Watcher keeps queues in the order of the tree. It is informed of what changes that.
type Watcher interface {
	// Moved is called when a node may have another place among its siblings that wait.
	Moved(n *Node, c sched.Class)
	// Shifted is called when the tags of all children of a node have changed by the same.
	Shifted(parent *Node, c sched.Class)
	// Split is called when a leaf becomes an inner node: tasks that wait at n wait at
	// own from now on.
	Split(n, own *Node)
	// Forgotten is called when the node leaves the tree.
	Forgotten(n *Node)
}

// one is the weight of an owner without a share, in millionths.
const one = 1_000_000

// New returns a tree whose only owner is "".
func New(w Watcher) *Tree {
	t := &Tree{root: &Node{inner: newInner()}, watcher: w, memory: memory{scale: 1}}
	t.root.refs++
	t.ownOf(t.root).refs++ // it stays
	return t
}

func newInner() *inner { return &inner{weight: one} }

// Path returns the owner.
func (n *Node) Path() string { return n.path }

// Parent returns the node above, nil for the root.
func (n *Node) Parent() *Node { return n.parent }

// Root returns the node that stands for all owners.
func (t *Tree) Root() *Node { return t.root }

// Tag returns the virtual time of the node's next task, in nanoseconds. The sibling with
// the least among those that wait is served first.
func (n *Node) Tag(c sched.Class) float64 { return n.tag[c] }

// Below reports whether the node runs less than its min: it is served before siblings.
func (n *Node) Below() bool { return n.below }

// AtMax reports whether the node itself runs as much as its max allows.
func (n *Node) AtMax() bool { return n.capped }

// Waiting returns how many tasks of the class wait, of the node and all below it.
func (n *Node) Waiting(c sched.Class) int { return int(n.waiting[c]) }

// isInner reports whether tasks of the node itself wait at another node, its own.
func (n *Node) isInner() bool {
	return n.inner != nil && (n.inner.own != nil || len(n.inner.children) > 0)
}

func (n *Node) weight() int64 {
	if n.inner == nil {
		return one
	}
	return n.inner.weight
}

// each calls f for the children of a node, its own first.
func (n *Node) each(f func(*Node)) {
	if n.inner == nil {
		return
	}
	if n.inner.own != nil {
		f(n.inner.own)
	}
	for _, child := range n.inner.children {
		f(child)
	}
}

// Hold returns the leaf at which tasks of the owner wait, and keeps it until a Release.
func (t *Tree) Hold(path string) *Node {
	n := t.node(path)
	if n.isInner() {
		n = t.ownOf(n)
	}
	n.refs++
	return n
}

// Release ends one Hold.
func (t *Tree) Release(n *Node) {
	t.drop(n)
	t.collect()
}

// node returns the node of a path, and makes it and those above it. A path with more
// levels than an owner may have ends in one level that takes the rest.
func (t *Tree) node(path string) *Node {
	n, end := t.root, -1
	for level := 1; end < len(path) && path != ""; level++ {
		next := strings.IndexByte(path[end+1:], '/')
		if next < 0 || level == MostLevels {
			end = len(path)
		} else {
			end += 1 + next
		}
		n = t.child(n, path[:end])
	}
	return n
}

// child returns the child of that path, and makes it.
func (t *Tree) child(n *Node, path string) *Node {
	if n.inner == nil {
		n.inner = newInner()
	}
	at, found := n.inner.find(path)
	if found {
		return n.inner.children[at]
	}
	if !n.isInner() {
		t.split(n)
	}
	made := t.newNode(n, strings.Clone(path))
	n.inner.children = slices.Insert(n.inner.children, at, made)
	return made
}

func (x *inner) find(path string) (at int, found bool) {
	return slices.BinarySearchFunc(x.children, path, func(n *Node, path string) int { return strings.Compare(n.path, path) })
}

func (t *Tree) newNode(parent *Node, path string) *Node {
	n := &Node{path: path, parent: parent, tag: [sched.NumClasses]float64{math.Inf(-1), math.Inf(-1)}}
	if t.memory.remembers(sched.Long) {
		n.tag[sched.Long] = 0
	}
	parent.refs++
	return n
}

// ownOf returns the leaf of the tasks of an inner node itself.
func (t *Tree) ownOf(n *Node) *Node {
	if n.inner.own == nil {
		n.inner.own = t.newNode(n, n.path)
	}
	return n.inner.own
}

// split makes a leaf an inner node: its jobs are those of its own leaf from now on.
// Tasks that run already are charged to the node only.
func (t *Tree) split(n *Node) {
	jobs := n.refs
	if n.inner.share != nil {
		jobs--
	}
	if jobs == 0 {
		return
	}
	own := t.ownOf(n)
	own.refs, n.refs = jobs, n.refs-jobs
	own.mean = n.mean
	for c := range own.waiting {
		own.waiting[c] = n.waiting[c]
	}
	if own.isActive() {
		n.inner.active += one
	}
	t.watcher.Split(n, own)
}
