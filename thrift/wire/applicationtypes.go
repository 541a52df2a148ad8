package wire

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/application"
)

func applicationTo(a *api.Application) *application.TApplication {
	return &application.TApplication{
		ID: a.ID, Name: a.Name, User: a.User, Incarnation: a.Incarnation, Template: templateTo(&a.Template), Grants: a.Grants, Token: a.Token,
	}
}

// applicationFrom reads an application; what is missing is empty, and refused
// where it is looked at.
func applicationFrom(t *application.TApplication) *api.Application {
	if t == nil {
		return &api.Application{}
	}
	return &api.Application{
		ID: t.ID, Name: t.Name, User: t.User, Incarnation: t.Incarnation, Template: templateFrom(t.Template), Grants: t.Grants, Token: t.Token,
	}
}

func templateTo(t *api.Template) *application.TTemplate {
	x := &application.TTemplate{
		Argv: t.Argv, Env: t.Env, Memory: t.Memory, Slots: n32(t.Slots), Reach: t.Reach, ReachSetting: t.ReachSetting,
		Files: mapped(t.Files, func(f api.File) *application.TFile {
			return &application.TFile{Name: f.Name, Sha256: f.SHA256, Size: f.Size}
		}),
	}
	if r := t.Runtime; r != nil {
		x.Runtime = &application.TRuntime{Name: r.Name, Version: r.Version, Path: r.Path, MustHold: r.MustHold, Shows: r.Shows, Setting: r.Setting}
	}
	return x
}

func templateFrom(t *application.TTemplate) api.Template {
	if t == nil {
		return api.Template{}
	}
	x := api.Template{
		Argv: t.Argv, Env: t.Env, Memory: t.Memory, Slots: int(t.Slots), Reach: t.Reach, ReachSetting: t.ReachSetting,
		Files: mapped(t.Files, func(f *application.TFile) api.File {
			return api.File{Name: f.Name, SHA256: f.Sha256, Size: f.Size}
		}),
	}
	if r := t.Runtime; r != nil {
		x.Runtime = &api.Runtime{Name: r.Name, Version: r.Version, Path: r.Path, MustHold: r.MustHold, Shows: r.Shows, Setting: r.Setting}
	}
	return x
}

func wantsTo(w *api.Wants) *application.TWants {
	return &application.TWants{
		Application: w.Application, Incarnation: w.Incarnation, Sequence: w.Sequence, Executors: n32(w.Executors), Stop: w.Stop, LastExecutor: n32(w.LastExecutor),
		Levels: mapped(w.Levels, func(l api.Level) *application.TLevel {
			return &application.TLevel{
				Name: l.Name, Total: l.Total, Had: l.Had, JobClass: l.Class, EstimateNanos: int64(l.Estimate), Hosts: l.Hosts, Title: l.Title, Why: l.Why,
			}
		}),
	}
}

func wantsFrom(t *application.TWants) *api.Wants {
	if t == nil {
		return &api.Wants{}
	}
	return &api.Wants{
		Application: t.Application, Incarnation: t.Incarnation, Sequence: t.Sequence, Executors: int(t.Executors), Stop: t.Stop, LastExecutor: int(t.LastExecutor),
		Levels: mapped(t.Levels, func(l *application.TLevel) api.Level {
			return api.Level{
				Name: l.Name, Total: l.Total, Had: l.Had, Class: l.JobClass, Estimate: time.Duration(l.EstimateNanos), Hosts: l.Hosts, Title: l.Title, Why: l.Why,
			}
		}),
	}
}

func executorStateTo(s api.ExecutorState) *application.TExecutorState {
	return &application.TExecutorState{
		ID: s.ID, Node: s.Node, Host: s.Host, State: s.State, ExitStatus: n32(s.ExitStatus), Reason: s.Reason,
		StdoutUrl: s.Stdout, StderrUrl: s.Stderr, Final: s.Final,
	}
}

func executorStateFrom(t *application.TExecutorState) api.ExecutorState {
	if t == nil {
		return api.ExecutorState{}
	}
	return api.ExecutorState{
		ID: t.ID, Node: t.Node, Host: t.Host, State: t.State, ExitStatus: int(t.ExitStatus), Reason: t.Reason,
		Stdout: t.StdoutUrl, Stderr: t.StderrUrl, Final: t.Final,
	}
}

func newsTo(n api.News) *application.TNews {
	return &application.TNews{Version: n.Version, Executors: mapped(n.Executors, executorStateTo), Notes: n.Notes}
}

func newsFrom(t *application.TNews) api.News {
	if t == nil {
		return api.News{}
	}
	return api.News{Version: t.Version, Executors: mapped(t.Executors, executorStateFrom), Notes: t.Notes}
}

func applicationReplyTo(r api.ApplicationReply) *application.TApplicationReply {
	return &application.TApplicationReply{Missing: r.Missing, LeaseMillis: millis32(r.Lease), Frontends: r.Frontends, CutoffNanos: int64(r.Cutoff)}
}

func applicationReplyFrom(t *application.TApplicationReply) api.ApplicationReply {
	if t == nil {
		return api.ApplicationReply{}
	}
	return api.ApplicationReply{Missing: t.Missing, Lease: time.Duration(t.LeaseMillis) * time.Millisecond, Frontends: t.Frontends, Cutoff: time.Duration(t.CutoffNanos)}
}
