package webpage

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// answerWithin bounds an answer to a viewer.
const answerWithin = 10 * time.Second

// maxLog bounds a piece of output that is sent at once.
const maxLog = 128 << 10

// answer returns a handler that answers with the value that read returns. all is the context of
// one who sees everything, who is the viewer.
func (p *Page) answer(read func(all context.Context, who identity.Principal, place Place, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		place, err := p.place(r)
		if err != nil {
			refuse(w, err)
			return
		}
		value, err := read(identity.With(ctx, identity.Self()), identity.From(ctx), place, r)
		if err != nil {
			refuse(w, err)
			return
		}
		write(w, value)
	}
}

func write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encode(value), '\n')) // the viewer may have gone
}

// place returns the source that a request names; there is one of no name where there is one only.
func (p *Page) place(r *http.Request) (Place, error) {
	name := r.FormValue("frontend")
	for _, each := range p.board.places {
		if each.Name == name || name == "" && len(p.board.places) == 1 {
			return each, nil
		}
	}
	if o := p.board.elsewhere(); o != nil {
		if page, found := o.page(name); found {
			return Place{}, elsewhereError(name, page, r.FormValue("job"))
		}
	}
	return Place{}, &api.Error{Problem: api.NotFound, Subject: "frontend " + strconv.Quote(name), What: "this page does not show it", Tried: "answering a request for it", Next: "load the page again"}
}

// refuse answers with an error, and the status that programs understand.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if e, ok := errors.AsType[*api.Error](err); ok {
		switch e.Problem {
		case api.Denied:
			status = http.StatusForbidden
		case api.NotFound:
			status = http.StatusNotFound
		case api.Invalid:
			status = http.StatusBadRequest
		}
	}
	http.Error(w, err.Error(), status)
}

// jobsPage is a page of jobs.
type jobsPage struct {
	Jobs []jobRow `json:"jobs"`
	More bool     `json:"more"` // there may be older ones
}

// olderJobs answers with the jobs after one.
func (p *Page) olderJobs(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	if limit <= 0 || limit > wire.MaxPage {
		limit = wire.MaxPage
	}
	name, list, err := p.jobsAfter(ctx, r, limit)
	if err != nil {
		refuse(w, err)
		return
	}
	who, page := identity.From(ctx), jobsPage{Jobs: make([]jobRow, len(list)), More: len(list) == limit}
	for i := range list {
		j := job{Status: access.Shown(who, list[i]), Frontend: name}
		page.Jobs[i] = jobRow{Key: j.key(), job: j}
	}
	write(w, page)
}

// jobsAfter returns the jobs after one, and the name of the frontend that has them.
func (p *Page) jobsAfter(ctx context.Context, r *http.Request, limit int) (name string, list []api.Status, err error) {
	after := r.FormValue("after")
	if o := p.board.elsewhere(); o != nil {
		name = r.FormValue("frontend")
		if list, found, err := o.list(ctx, name, limit, after); found {
			return name, list, err
		}
	}
	place, err := p.place(r)
	if err == nil {
		list, err = place.List(identity.With(ctx, identity.Self()), limit, after)
	}
	return place.Name, list, err
}

// explanation returns why a job waits, or how it ended.
func explanation(all context.Context, who identity.Principal, place Place, r *http.Request) (any, error) {
	name := r.FormValue("job")
	e, err := place.Explain(all, name)
	if err != nil {
		return nil, err
	}
	return e, may(who, access.SeeJob, e.Status.Submitter, name, "explaining it on the page")
}

func may(who identity.Principal, a access.Action, submitter, job, tried string) error {
	return access.About(access.AllowOn(who, a, submitter), "job "+strconv.Quote(job), tried)
}

// logPiece is a piece of the output of a task.
type logPiece struct {
	Text    string `json:"text"`
	Missing int64  `json:"missing,omitempty"` // bytes from the offset on that are not kept
	Why     string `json:"why,omitempty"`     // they are not
	Next    int64  `json:"next"`              // offset of what follows
	Size    int64  `json:"size"`              // bytes up to the last one that is kept
	Ended   bool   `json:"ended"`             // no more will come; of the newest attempt, none of a later one either
	Attempt int    `json:"attempt"`           // whose output it is; 0 from a node of an earlier version
}

// taskLog returns a piece of the output of a task.
func taskLog(all context.Context, who identity.Principal, place Place, r *http.Request) (any, error) {
	q := wire.LogRequest{Job: r.FormValue("job"), Stream: r.FormValue("stream"), Limit: maxLog}
	var faults [3]error
	q.Task, faults[0] = strconv.Atoi(r.FormValue("task"))
	q.Attempt, faults[1] = strconv.Atoi(r.FormValue("attempt"))
	q.Offset, faults[2] = strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err := errors.Join(faults[:]...); err != nil || q.Stream != "stdout" && q.Stream != "stderr" || q.Offset < 0 || q.Task < 0 {
		return nil, &api.Error{Problem: api.Invalid, Subject: "job " + strconv.Quote(q.Job), What: "the request names no task, attempt, stream and offset", Tried: "reading an output", Next: "load the page again"}
	}
	s, err := place.Status(all, q.Job)
	if err == nil {
		err = may(who, access.ReadOutput, s.Submitter, q.Job, "reading its output on the page")
	}
	if err != nil {
		return nil, err
	}
	c, err := place.TaskLog(all, q)
	if err != nil {
		return nil, err
	}
	data := whole(c.Data, c.Ended)
	next := q.Offset + c.Missing + int64(len(data))
	ended := c.Ended && next >= c.Size && (q.Attempt > 0 || s.State.Ended()) // else another attempt may follow
	return logPiece{Text: string(data), Missing: c.Missing, Why: c.Why, Next: next, Size: c.Size, Ended: ended, Attempt: c.Attempt}, nil
}

// whole returns the data without a character that has only begun, unless nothing follows.
func whole(data []byte, ended bool) []byte {
	if ended {
		return data
	}
	for cut := 1; cut < utf8.UTFMax && cut <= len(data); cut++ {
		if b := data[len(data)-cut:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				return data[:len(data)-cut]
			}
			break
		}
	}
	return data
}

// sharesOf is the shares of owners, and their sums over all groups.
type sharesOf struct {
	api.OwnerShares
	Sum []api.OwnerShare `json:"sum"`
}

// shares returns how slots are shared between owners, as the viewer may see it.
func shares(all context.Context, who identity.Principal, place Place, _ *http.Request) (any, error) {
	ctx, err := asViewer(all, who, &place, "shares")
	if err != nil {
		return nil, err
	}
	s, err := place.Shares(ctx)
	if err != nil {
		return nil, err
	}
	return sharesOf{s, api.SumOwners(s.Groups)}, nil
}

// applications returns the applications of a frontend, as the viewer may see them.
func applications(all context.Context, who identity.Principal, place Place, _ *http.Request) (any, error) {
	if place.Applications == nil {
		return []string{}, nil
	}
	ctx, err := asViewer(all, who, &place, "applications")
	if err != nil {
		return nil, err
	}
	return place.Applications(ctx)
}

// asViewer returns the context in which a source answers what the viewer may see; all is that of one who
// sees everything, as operators do.
func asViewer(all context.Context, who identity.Principal, place *Place, what string) (context.Context, error) {
	if access.Of(who.Role, access.SeeShares) == access.All {
		return all, nil
	}
	if place.Remote {
		return nil, &api.Error{Problem: api.Denied, Subject: who.String(), What: "this page asks frontends in the name of who started it, and so shows " + what + " to operators only", Tried: "reading the " + what, Next: "use `pigeon shares`, or the page of a frontend"}
	}
	return identity.With(all, who), nil
}
