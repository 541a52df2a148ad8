package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// workerIndex holds the workers of a history by name.
type workerIndex struct {
	index map[string]int
	list  []namedWorker
}

type namedWorker struct {
	name   string
	number int // of a name that is one, or ends in one; else -1
	group  int // -1: not known
}

// newWorkerIndex returns an index of workers 0 to n-1, as the simulator names them.
func newWorkerIndex(n int) *workerIndex {
	c := &workerIndex{index: map[string]int{}}
	for i := range n {
		c.find(strconv.Itoa(i))
	}
	return c
}

// find returns the index of a worker: "17", or "node-2-017/0", whose group is 2.
func (c *workerIndex) find(name string) int {
	if i, ok := c.index[name]; ok {
		return i
	}
	w := namedWorker{name: name, number: -1, group: -1}
	var slot int
	if n, err := strconv.Atoi(name); err == nil {
		w.number = n
	} else if n, err := fmt.Sscanf(name, "node-%d-%d/%d", &w.group, &w.number, &slot); err != nil || n != 3 {
		w.group, w.number = -1, -1
	}
	c.index[name] = len(c.list)
	c.list = append(c.list, w)
	return len(c.list) - 1
}

// join records that a master launched a task at a worker.
func (c *workerIndex) join(worker, group int) {
	if w := &c.list[worker]; w.group < 0 {
		w.group = group
	}
}

// inOrder returns the workers by group and number, and the new position of each index.
// Numbered workers of unknown group belong to the group of the worker before them; the simulator numbers group by group.
func (c *workerIndex) inOrder() (workers []Worker, place []int) {
	byNumber := make([]int, len(c.list))
	for i := range byNumber {
		byNumber[i] = i
	}
	slices.SortStableFunc(byNumber, func(a, b int) int { return cmp.Compare(c.list[a].number, c.list[b].number) })
	c.inherit(byNumber)
	slices.Reverse(byNumber)
	c.inherit(byNumber) // the first workers inherit from those after them
	slices.Reverse(byNumber)
	slices.SortStableFunc(byNumber, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.list[a].group, c.list[b].group), cmp.Compare(c.list[a].number, c.list[b].number), strings.Compare(c.list[a].name, c.list[b].name))
	})
	place = make([]int, len(c.list))
	for at, i := range byNumber {
		place[i] = at
		workers = append(workers, Worker{Name: c.list[i].name, Group: c.list[i].group})
	}
	return workers, place
}

// inherit sets the group of each worker of unknown group to that of the one before it.
func (c *workerIndex) inherit(order []int) {
	group := -1
	for _, i := range order {
		if w := &c.list[i]; w.group >= 0 {
			group = w.group
		} else if _, err := strconv.Atoi(w.name); err == nil {
			w.group = group
		}
	}
}

// number reads "PREFIXn".
func number(text, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return -1, false
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return -1, false
	}
	return n, true
}
