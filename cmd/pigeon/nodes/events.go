package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// EventsCommand is the verb events.
func EventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "events",
		GroupID: cli.GroupWatch,
		Short:   "Show what happened: jobs, failed attempts, nodes, masters, frontends",
		Long: `Shows the newest events that the frontends keep, the oldest first: jobs submitted, started and
ended, attempts that failed or were lost, nodes that came, left or drain, groups without a
master, refused submissions. A task that completed has no event: see 'pigeon explain', traces
and 'pigeon history'. An event of a node or group that several frontends report is shown
once; JSON has that of each. Of other users' jobs, users see only the id, the owner and the
state.

With --follow it goes on until Ctrl-C; what was missed, and which frontend does not answer, is
said on standard error.`,
		Example: `  pigeon events --since 10m
  pigeon events -f --type node,group
  pigeon events --job 01K --type attempt -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o eventsOptions
	fs := cmd.Flags()
	fs.BoolVarP(&o.follow, "follow", "f", false, "continue until interrupted")
	fs.StringVar(&o.since, "since", "", "events not older than this (10m, 24h, 7d), or after this index of each frontend (4711)")
	fs.IntVar(&o.limit, "limit", 0, "only so many of the newest of them (0 = all that the frontends keep)")
	connect.AddFilledText(fs, &o.query.Job, "job", "give the beginning of an id", "events of jobs whose id begins so")
	fs.StringSliceVar(&o.query.Types, "type", nil, "events of these types, or of types that begin with one of these words: job, attempt, task, tasks, submission, node, group, frontend")
	connect.AddFilledText(fs, &o.query.Node, "node", "give the name of a node", "events of this node")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(api.EventTypes(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("job", connect.CompleteJobs)                                                          // likewise
	connect.AddFlags(cmd)
	connect.AddOwnerFlag(cmd) // the setting of this name is the owner of submitted jobs; it selects none
	owner := fs.Lookup("owner")
	owner.Usage = "events of jobs of this owner and of owners below it"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if owner.Changed {
			o.query.Owner = owner.Value.String()
		}
		if err := o.check(); err != nil {
			return cli.AsUsageError(err)
		}
		return connect.Ask(cmd, func(c *connect.Cluster) error {
			err := newEventReader(c, &o, cmd.OutOrStdout(), cmd.ErrOrStderr(), *output).run(cmd.Context())
			switch {
			case connect.IsBrokenPipe(err):
				return cli.SilentError{Code: cli.ExitBrokenPipe}
			case o.follow && cmd.Context().Err() != nil:
				return cli.SilentError{Code: cli.ExitInterrupted}
			}
			return err
		})
	}
	return cmd
}

// eventsOptions are the flags of pigeon events.
type eventsOptions struct {
	follow bool
	limit  int // of the events there are; 0: all
	since  string
	query  api.EventQuery
}

// check completes the query, and refuses invalid flags.
func (o *eventsOptions) check() (err error) {
	if o.limit < 0 {
		return fmt.Errorf("--limit %d is below 0; give how many of the newest events to show, or leave it out for all", o.limit)
	}
	if o.since == "" {
		return o.query.Validate()
	}
	if o.query.After, err = strconv.ParseUint(o.since, 10, 64); err == nil {
		return o.query.Validate()
	}
	o.query.Since, err = connect.ParseAgo(o.since)
	if err != nil || o.query.Since <= 0 {
		return fmt.Errorf("--since %q: give a duration ago (10m, 24h, 7d), or an index (4711)", o.since)
	}
	return o.query.Validate()
}

const (
	// eventWait is how long a frontend may hold an answer back, so that its loss is noticed.
	eventWait = 10 * time.Second
	// eventPause is the pause after a call that failed.
	eventPause = 500 * time.Millisecond
	// eventsTogether is how long events of several frontends are gathered to be put in order.
	eventsTogether = 100 * time.Millisecond
)

// eventReader reads the events of all frontends.
type eventReader struct {
	c      *connect.Cluster
	opts   *eventsOptions
	shown  eventPrinter
	places map[*client.Frontend]*eventPlace

	mu  sync.Mutex
	say io.Writer // guarded by mu
}

// eventPlace is how far the events of one address were read. One goroutine uses it at a time.
type eventPlace struct {
	frontend string // its name
	epoch    uint64 // of the process that answered; 0: none has
	last     uint64
	down     bool // the last call failed, and that was reported
}

func newEventReader(c *connect.Cluster, o *eventsOptions, out, errs io.Writer, format cli.OutputFormat) *eventReader {
	r := &eventReader{c: c, opts: o, say: errs, shown: eventPrinter{out: out, json: format == cli.OutputJSON}, places: map[*client.Frontend]*eventPlace{}}
	for _, f := range c.Frontends() {
		r.places[f] = &eventPlace{last: o.query.After}
	}
	return r
}

// run shows the kept events, and continues if asked to.
func (r *eventReader) run(ctx context.Context) error {
	var found []api.Event
	err := r.c.Each(ctx, func(f *client.Frontend) error {
		for {
			page, err := r.read(ctx, f, 0)
			if err != nil {
				return err
			}
			found = append(found, page.Events...)
			if !page.More {
				return nil
			}
		}
	})
	if n := r.opts.limit; n > 0 && len(found) > n {
		inOrder(found)
		found = found[len(found)-n:]
	}
	if printed := r.shown.all(found); printed != nil || !r.opts.follow || err != nil && !r.anyRead() {
		return errors.Join(err, printed)
	}
	return r.follow(ctx)
}

// anyRead reports whether a frontend has answered.
func (r *eventReader) anyRead() bool {
	for _, p := range r.places {
		if p.epoch != 0 {
			return true
		}
	}
	return false
}

// read returns the next events of a frontend, and reports what is missing before them.
func (r *eventReader) read(ctx context.Context, f *client.Frontend, wait time.Duration) (api.EventPage, error) {
	p, q := r.places[f], r.opts.query
	q.Epoch, q.After, q.Wait = p.epoch, p.last, wait
	if p.epoch != 0 {
		q.Since = 0 // older events have been read
	}
	call, cancel := context.WithTimeout(ctx, r.c.Timeout+wait)
	defer cancel()
	page, err := f.Events(call, q)
	if err != nil {
		return page, err
	}
	if p.epoch != 0 && p.epoch != page.Epoch {
		r.sayf("frontend %s at %s is another process than before: events that the one before had not passed on are lost, and its index begins again", page.Frontend, f.Address)
	}
	if page.Missed > 0 {
		r.sayf("missed %s of frontend %s: it does not keep them any more; event_limit and event_bytes are its settings", sched.Count(int(page.Missed), "event", "events"), page.Frontend) //nolint:gosec // a count
	}
	p.frontend, p.epoch, p.last = page.Frontend, page.Epoch, page.Last
	return page, nil
}

// follow shows events until ctx is done or the output is closed.
func (r *eventReader) follow(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	found := make(chan []api.Event)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, f := range r.c.Frontends() {
		all.Go(func() { r.followOne(ctx, f, found) })
	}
	var batch []api.Event
	var due <-chan time.Time
	for {
		select {
		case list := <-found:
			if batch = append(batch, list...); due == nil {
				due = time.After(eventsTogether)
			}
		case <-due:
			if err := r.shown.all(batch); err != nil {
				return err
			}
			batch, due = nil, nil
		case <-ctx.Done():
			return r.shown.all(batch)
		}
	}
}

// followOne passes on the events of one frontend, also when it comes back.
func (r *eventReader) followOne(ctx context.Context, f *client.Frontend, found chan<- []api.Event) {
	for p := r.places[f]; ctx.Err() == nil; {
		page, err := r.read(ctx, f, eventWait)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !p.down && !r.c.IsStandby(err) {
				p.down = true
				r.sayf("the frontend at %s does not answer, so its events are missing until it does: %v", f.Address, err)
			}
			delay.For(ctx, eventPause)
			continue
		case p.down:
			p.down = false
			r.sayf("the frontend at %s answers again", f.Address)
		}
		if len(page.Events) == 0 {
			continue
		}
		select {
		case found <- page.Events:
		case <-ctx.Done():
		}
	}
}

func (r *eventReader) sayf(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.say, "pigeon: "+format+"\n", values...)
}

// eventPrinter prints events in the order of their times.
type eventPrinter struct {
	out  io.Writer
	json bool
	told map[string]toldEvent // what frontends reported about nodes, groups and each other, for text
}

// toldEvent is the frontend that last reported the same, and when.
type toldEvent struct {
	frontend string
	at       time.Time
}

const (
	// sameWithin is how far the times are apart at most at which two frontends learn the same.
	sameWithin = 15 * time.Second
	// maxTold bounds what is remembered for that.
	maxTold = 4096
)

// inOrder puts events in the order of their times.
func inOrder(list []api.Event) {
	slices.SortStableFunc(list, func(a, b api.Event) int { return strings.Compare(a.Time, b.Time) })
}

func (p *eventPrinter) all(list []api.Event) error {
	inOrder(list)
	if p.json {
		return cli.WriteAllJSON(p.out, list)
	}
	var text strings.Builder
	for i := range list {
		e := &list[i]
		at, err := time.Parse(time.RFC3339, e.Time)
		if err != nil {
			return fmt.Errorf("the time %q of event %d of frontend %s is none", e.Time, e.Index, e.Frontend)
		}
		if p.repeats(e, at) {
			continue
		}
		fmt.Fprintf(&text, "%s  %-7s  %-18s  %s\n", at.Local().Format("2006-01-02 15:04:05.000"), e.Severity, e.Type, cli.Printable(e.Message)) //nolint:gosmopolitan // for the user
	}
	if _, err := io.WriteString(p.out, cli.PrintableLines(text.String())); err != nil {
		return fmt.Errorf("events could not be written: %w", err)
	}
	return nil
}

// repeats reports whether another frontend has just reported the same about a node, a
// group or a frontend.
func (p *eventPrinter) repeats(e *api.Event, at time.Time) bool {
	switch about, _, _ := strings.Cut(e.Type, "_"); {
	case e.Type == api.EventNodeOrdered, e.Type == api.EventNodeForgotten, e.Type == api.EventFrontendStarted:
		return false
	case about != "node" && about != "group" && about != "frontend":
		return false
	}
	if len(p.told) >= maxTold || p.told == nil {
		p.told = map[string]toldEvent{}
	}
	key := e.Type + " " + e.Node
	if e.Group != nil {
		key += " " + strconv.Itoa(*e.Group)
	} else {
		key += " " + e.Message
	}
	before, known := p.told[key]
	if known && before.frontend != e.Frontend && at.Sub(before.at) < sameWithin {
		return true
	}
	p.told[key] = toldEvent{e.Frontend, at}
	return false
}
