package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// notice tells the user of one call that it waits, once, and that it continues. Calls about one job
// that wait for the same frontend together, such as those for its end and for its input, say so once.
type notice struct {
	client *Client
	about  string // the job, "" for none
	wait   *wait  // nil: the call does not wait
}

// waitKey is what calls wait for together.
type waitKey struct{ job, address string }

// wait is of calls that wait for the same. The client's lock guards it.
type wait struct {
	key   waitKey
	calls int
	told  bool // the user knows that they wait
}

// waits is called when a round has ended without an answer.
func (n *notice) waits(silent []silence, first *Frontend, left time.Duration) {
	if n.wait != nil || n.client.opts.Say == nil {
		return
	}
	var trying []string
	for _, f := range n.client.all() {
		trying = append(trying, f.Address)
	}
	who := silent[0]
	for _, f := range silent {
		if f.Frontend == first {
			who = f
		}
	}
	if !n.join(waitKey{n.about, who.Address}) {
		return
	}
	why := "does not answer"
	if refused, ok := errors.AsType[*api.Error](who.err); ok && !unanswered(who.err) {
		why = fmt.Sprintf("cannot serve it yet (%s)", refused.What)
	}
	goes := ""
	if n.about != "" {
		goes = fmt.Sprintf("job %s goes on; ", n.about)
	}
	n.client.opts.Say(fmt.Sprintf("frontend %s %s; %strying %s for %v", who.Address, why, goes, strings.Join(trying, ", "), left.Round(time.Second)))
}

// join adds the call to those that wait for the same, and reports whether the user is to be told.
func (n *notice) join(key waitKey) bool {
	c := n.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == nil {
		c.waits = map[waitKey]*wait{}
	}
	w := c.waits[key]
	if w == nil {
		w = &wait{key: key}
		c.waits[key] = w
	}
	n.wait = w
	w.calls++
	tell := !w.told
	w.told = true
	return tell
}

// ends is called at the end of the call, with the frontend that has answered, nil for none.
func (n *notice) ends(by *Frontend) {
	if n.wait == nil {
		return
	}
	if n.leave(by) {
		n.client.opts.Say(fmt.Sprintf("frontend %s answers", by.Address))
	}
}

// leave takes the call from those that wait for the same, and reports whether the user is to be
// told that they continue.
func (n *notice) leave(by *Frontend) bool {
	c, w := n.client, n.wait
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.calls--; w.calls == 0 {
		delete(c.waits, w.key)
	}
	if by == nil || !w.told {
		return false
	}
	w.told = false
	return true
}
