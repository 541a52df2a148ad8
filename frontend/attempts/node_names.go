package attempts

// nodeNames numbers the nodes, which saves memory in the record of every task. A name is kept
// for as long as a job in memory has its number; then another name takes the number.
type nodeNames struct {
	numbers map[string]uint32
	names   []nodeName // by number; the first is no node's
	free    []uint32   // numbers of no node
}

// nodeName is the name of a number, and how often the jobs have the number.
type nodeName struct {
	name string
	uses int
}

func newNodeNames() nodeNames {
	return nodeNames{numbers: map[string]uint32{}, names: make([]nodeName, 1)}
}

// set sets a number that a job keeps to that of a node, from 1; 0 for "". The job gives its
// numbers back at its end (forget).
func (n *nodeNames) set(number *uint32, name string) {
	before := *number
	if *number = 0; name != "" {
		*number = n.number(name)
		n.names[*number].uses++
	}
	n.release(before)
}

// number returns the number of a node; no job need have it yet.
func (n *nodeNames) number(name string) uint32 {
	i, known := n.numbers[name]
	if known {
		return i
	}
	if last := len(n.free) - 1; last >= 0 {
		i, n.free = n.free[last], n.free[:last]
	} else {
		i = uint32(len(n.names)) //nolint:gosec // at most one for each task in memory
		n.names = append(n.names, nodeName{})
	}
	n.names[i].name, n.numbers[name] = name, i
	return i
}

// release is called when a job no longer keeps a number that was set.
func (n *nodeNames) release(number uint32) {
	if number == 0 {
		return
	}
	at := &n.names[number]
	if at.uses--; at.uses == 0 {
		delete(n.numbers, at.name)
		at.name, n.free = "", append(n.free, number)
	}
}

// forget releases the numbers of a job that is about to be forgotten.
func (n *nodeNames) forget(a *attempts) {
	for i := range a.tasks {
		n.release(a.tasks[i].node)
		a.tasks[i].node = 0
	}
	for i := range a.earlier {
		n.release(a.earlier[i].node)
		a.earlier[i].node = 0
	}
}

// name returns the node of a number, "" for 0.
func (n *nodeNames) name(i uint32) string { return n.names[i].name }
