package frontends

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// notice tells the user of one call that it waits, once, and that it continues.
type notice struct {
	client *Client
	about  string // the job, "" for none
	told   bool
}

// waits is called when a round has ended without an answer.
func (n *notice) waits(silent []silence, first *Frontend, left time.Duration) {
	if n.told || n.client.opts.Say == nil {
		return
	}
	n.told = true
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

// continues is called when a frontend has answered.
func (n *notice) continues(f *Frontend) {
	if n.told {
		n.client.opts.Say(fmt.Sprintf("frontend %s answers", f.Address))
	}
}
