package application

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// RegisterApplication registers an application, or takes it over from another
// frontend.
func (s *Service) RegisterApplication(_ context.Context, a *api.Application) (api.ApplicationReply, error) {
	return s.RegisterWithin(a, Part{math.MaxInt, math.MaxInt64})
}

// Part is what one submitter may have here.
type Part struct {
	Applications int
	FileBytes    int64 // of their files, equal ones once; announced ones count before they arrive
}

// RegisterWithin is RegisterApplication for a submitter that may have a part of the room only.
func (s *Service) RegisterWithin(a *api.Application, most Part) (api.ApplicationReply, error) {
	if s.cfg.Refusal != "" {
		return api.ApplicationReply{}, notHere(a.ID, s.cfg.Refusal, s.cfg.Frontend)
	}
	if err := s.within(a, most); err != nil { // before its files take room
		return api.ApplicationReply{}, err
	}
	incoming, err := s.receive(a)
	if err != nil {
		return api.ApplicationReply{}, err
	}
	s.update(func(reg *registry, now time.Time) {
		known := reg.apps[a.ID] != nil
		if err = reg.within(a, most); err != nil {
			return
		}
		if err = reg.register(a, now); err != nil || known {
			return
		}
		reg.apps[a.ID].incoming, incoming = incoming, nil
		if !s.begun {
			s.begun = true
			close(s.first)
		}
		s.cfg.Logger.Info("an application has registered", "application", a.ID, "name", a.Name, "grants", a.Grants, "memory", a.Template.Memory)
	})
	s.drop(incoming)
	if err != nil {
		return api.ApplicationReply{}, err
	}
	return s.reply(a), nil
}

func (s *Service) within(a *api.Application, most Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registry.within(a, most)
}

// within returns an error when an application that is not known here would exceed what its submitter may
// have.
func (reg *registry) within(a *api.Application, most Part) error {
	if reg.apps[a.ID] != nil {
		return nil
	}
	refusal := tooMuchOfOne(a.ID)
	if n := reg.countOf(a.Submitter); n >= most.Applications {
		refusal.What = fmt.Sprintf("user %s has %s here, the most of one user", a.Submitter, sched.Count(n, "application", "applications"))
		return refusal
	}
	own, all := reg.fileBytes(a)
	switch {
	case own > most.FileBytes:
		refusal.Problem, refusal.RetryAfter, refusal.Next = api.Invalid, 0, "put large files on storage that the nodes share"
		refusal.What = fmt.Sprintf("its files have %d bytes, more than the limit of %d for one user", own, most.FileBytes)
	case all > most.FileBytes:
		refusal.What = fmt.Sprintf("with it the files of the applications of user %s have %d bytes here, more than the limit of %d for one user", a.Submitter, all, most.FileBytes)
	default:
		return nil
	}
	return refusal
}

// fileBytes returns how many bytes the files of an application have, and with them those of all
// applications of its submitter; equal files count once.
func (reg *registry) fileBytes(a *api.Application) (own, all int64) {
	counted := map[string]bool{}
	add := func(files []api.File) {
		for i := range files {
			if f := &files[i]; !counted[f.SHA256] {
				counted[f.SHA256] = true
				all += f.Size
			}
		}
	}
	add(a.Template.Files)
	own = all
	for _, other := range reg.apps {
		if other.Submitter == a.Submitter {
			add(other.Template.Files)
		}
	}
	return own, all
}

// reply needs no lock.
func (s *Service) reply(a *api.Application) api.ApplicationReply {
	r := api.ApplicationReply{Lease: s.cfg.Lease, Cutoff: s.cfg.Cutoff, Frontends: []string{s.cfg.Scheduler}}
	for _, f := range a.Template.Files {
		if !s.cfg.Files.Has(f.SHA256) {
			r.Missing = append(r.Missing, f.SHA256)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.memberships {
		for _, f := range m.Frontends {
			if f.Scheduler != "" && f.Scheduler != s.cfg.Scheduler && !slices.Contains(r.Frontends, f.Scheduler) {
				r.Frontends = append(r.Frontends, f.Scheduler)
			}
		}
	}
	return r
}

// Want applies what an application wants now. Executors are not started before its
// files have arrived.
func (s *Service) Want(_ context.Context, w *api.Wants) (reply api.ApplicationReply, err error) {
	registered, arrivals, err := s.registered(w.Application, w.Incarnation)
	if err != nil {
		return api.ApplicationReply{}, err
	}
	ready := s.filesReady(&registered)
	s.update(func(reg *registry, now time.Time) {
		var a *application
		if a, err = reg.lookup(w.Application, w.Incarnation, now); err != nil {
			return
		}
		if a.arrivals == arrivals { // else the last file has arrived since
			a.filesReady = ready
		}
		reg.want(a, w, s.classOf, now)
	})
	if err != nil {
		return api.ApplicationReply{}, err
	}
	return s.reply(&registered), nil
}

// registered returns an application that is served, and its arrivals.
func (s *Service) registered(id string, incarnation int64) (a api.Application, arrivals int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.registry.lookup(id, incarnation, time.Now())
	if err != nil {
		return a, 0, err
	}
	return known.Application, known.arrivals, nil
}

// classOf finds the class of a level by the rule for jobs (docs/design.md, section 3).
func (s *Service) classOf(l *api.Level) (sched.Class, string) {
	return api.ClassOf(&api.Request{Class: l.Class, Estimate: l.Estimate}, s.cfg.Cutoff, s.cfg.DefaultClass)
}

// EndApplication ends an application. One that is not registered has ended before.
func (s *Service) EndApplication(_ context.Context, app string, incarnation int64) error {
	s.update(func(reg *registry, _ time.Time) {
		if a := reg.apps[app]; a != nil && a.Incarnation == incarnation {
			s.cfg.Logger.Info("an application has ended", "application", app)
			a.endedItself = a.ended == ""
			reg.end(a, "it has ended")
		}
	})
	return nil
}
