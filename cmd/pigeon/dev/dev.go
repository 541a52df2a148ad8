// Package dev has the verb dev: a whole cluster in one process.
package dev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/daemons"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	calls "github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/spf13/cobra"
)

// devFlags describe what "pigeon dev" starts.
type devFlags struct {
	spec          cluster.Spec
	groups, nodes int
	listen        string
	backends      string
	web           string
	secure        string
	nats          bool
	secured       *devSecurity // nil without --secure
}

// Line is what "pigeon dev -o json" prints when all serve.
type Line struct {
	Ready     bool            `json:"ready"`     // true
	Frontends []string        `json:"frontends"` // host:port of each, for applications
	Web       string          `json:"web"`       // URL of the page
	Metrics   string          `json:"metrics"`   // URL of the metrics of all its daemons, for Prometheus
	NATS      string          `json:"nats"`      // URL of the NATS server; empty with --nats=false
	Backends  []cluster.Place `json:"backends"`  // where backends of applications register
	Data      string          `json:"data"`      // folder of journals and outputs
	Took      float64         `json:"took"`      // seconds from start to ready

	TLSCA     string `json:"tls_ca,omitempty"`     // file with the certificate of the authority, with --secure
	TokenFile string `json:"token_file,omitempty"` // file with the access token of the user who called, with --secure
}

// Command is the verb dev.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dev",
		GroupID: cli.GroupCluster,
		Short:   "Run a whole cluster in this process, on loopback",
		Long: `Runs a whole cluster in this process, on loopback: NATS, frontends, masters, node
monitors, and a web page that shows them. The other commands find it by themselves.
Ctrl-C ends it and everything that runs in it, without waiting for tasks.

With --secure other machines can reach the first frontend, by TLS and an access token: the
folder gets an authority, certificates and a token for you, made once and then kept.`,
		Example: `  pigeon dev
  pigeon dev --nodes 120 --slots 1 --groups 3 --frontends 10     the paper's EC2 cluster
  pigeon dev --policy sparrow                                    another policy, in all daemons
  pigeon dev --owners-file owners.yaml                           shares and quotas of owners
  pigeon dev --data ./pigeon-data                                jobs outlive it
  pigeon dev --nats=false --groups 1 --nodes 1 --slots 16        programs on this machine only
  pigeon dev --otlp 127.0.0.1:4317                               traces to Jaeger
  pigeon dev --listen 127.0.0.1:20503 --backends 127.0.0.1:20501 the published ports
  pigeon dev --listen 10.0.0.5:20503 --secure ~/pigeon-secrets   for other machines too`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	newLog := daemons.AddLogFlags(cmd.Flags(), "warn")
	flags := addDevFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		began := time.Now()
		log, err := newLog(cmd.ErrOrStderr())
		if err == nil {
			flags.fit(cmd)
			err = flags.check()
		}
		if err != nil {
			return cli.AsUsageError(err)
		}
		log, limit := daemons.LimitableLog(log)
		flags.spec.Log = log
		d, err := startDev(cmd.Context(), flags)
		if err != nil {
			return err
		}
		d.line.Took = time.Since(began).Seconds()
		err = d.serve(cmd, *output)
		limit() // daemons that stop one after another report each other as unreachable
		return errors.Join(err, d.close())
	}
	return cmd
}

func addDevFlags(cmd *cobra.Command) *devFlags {
	f := &devFlags{}
	fs, s := cmd.Flags(), &f.spec
	fs.IntVar(&s.Frontends, "frontends", 1, "frontends")
	fs.IntVar(&f.groups, "groups", 2, "groups, each with a master; policies without groups have one master in any case")
	fs.IntVar(&f.nodes, "nodes", 4, "nodes, distributed evenly over the groups")
	fs.IntVar(&s.Slots, "slots", 4, "slots of each node: tasks it runs at a time")
	fs.Float64Var(&s.Reserved, "reserved", 0.10, "share of each group's slots that take short tasks only")
	fs.DurationVar(&s.Cutoff, "cutoff", time.Second, "an estimated mean task duration up to this makes a job short")
	fs.IntVar(&s.Weight, "weight", 0, "W: of W tasks taken from the queues one at least is long while long ones wait (0 = infinite)")
	fs.StringVar(&s.Policy, "policy", "pigeon-x", "NAME[:key=value,...]; "+strings.Join(policy.Names(), ", ")+" (pigeon: as published)")
	fs.StringVar(&s.OwnersFile, "owners-file", "", "file with the keys shares, half_life, quotas, default_tasks, default_bytes and owner_users, read again when it changes (docs/shares.md)")
	fs.StringVar(&s.Classes, "classes", "learned", "class of jobs that declare neither class nor estimate: learned from earlier ones, or declared (short)")
	fs.StringVar(&s.Dir, "data", "", "folder that keeps journals and outputs (default: a temporary one, removed at the end)")
	fs.StringVar(&s.OTLP, "otlp", "", "host:port of an OTLP receiver (gRPC) for traces, such as Jaeger's 127.0.0.1:4317")
	fs.StringVar(&s.TraceURL, "trace-url", "", "where traces are shown, an address with {trace} for the id, which explain prints: http://127.0.0.1:16686/trace/{trace}")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0", "where the first frontend serves applications; port 0 takes a free one")
	fs.StringVar(&f.backends, "backends", "127.0.0.1:0", "where backends register at the first node; port 0 takes a free one")
	fs.StringVar(&f.secure, "secure", "", "folder for an authority, certificates and an access token, with which --listen may be an address that other machines reach")
	fs.BoolVar(&f.nats, "nats", true, "a NATS server for notices, as a cluster of several machines has; without it they travel by Thrift, which takes less processor time on one machine")
	fs.StringVar(&f.web, "web", "127.0.0.1:0", "where the web page is served; port 0 takes a free one")
	return f
}

// fewFiles is a limit of open files under which daemons and connections of the usual size have no room.
const fewFiles = 256

// fit makes the cluster small where this process may open few files and no size was asked for.
func (f *devFlags) fit(cmd *cobra.Command) {
	var limit syscall.Rlimit
	if fs := cmd.Flags(); fs.Changed("groups") || fs.Changed("nodes") || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= fewFiles {
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "pigeon: the limit of open files is %d (ulimit -n): one group and one node in place of %d and %d\n", limit.Cur, f.groups, f.nodes)
	f.groups, f.nodes, f.spec.Slots = 1, 1, f.spec.Slots*f.nodes
}

// check refuses options that cannot work, before anything is started.
func (f *devFlags) check() error {
	if f.groups < 1 || f.nodes < f.groups || f.groups > cluster.MaxGroups || f.nodes > cluster.MaxNodes*f.groups {
		return fmt.Errorf("--nodes %d cannot be distributed to --groups %d; give every group 1 to %d nodes, and have at most %d groups", f.nodes, f.groups, cluster.MaxNodes, cluster.MaxGroups)
	}
	if f.spec.Slots < 1 || f.spec.Frontends < 1 || f.spec.Frontends > cluster.MaxFrontends {
		return fmt.Errorf("--slots %d must be 1 or more, and --frontends %d from 1 to %d", f.spec.Slots, f.spec.Frontends, cluster.MaxFrontends)
	}
	if err := f.checkSettings(); err != nil {
		return err
	}
	if err := f.checkAddresses(); err != nil {
		return err
	}
	if f.spec.Classes != "learned" && f.spec.Classes != "declared" {
		return fmt.Errorf("--classes %q is neither learned nor declared; use one of these (docs/classes.md)", f.spec.Classes)
	}
	if f.spec.OwnersFile != "" {
		if _, err := owners.Load(f.spec.OwnersFile); err != nil {
			return err
		}
	}
	f.spec.Groups = experiment.EvenGroups(f.nodes, f.groups)
	f.spec.WithoutNATS = !f.nats
	f.spec.TraceRatio = 1
	f.spec.HTTP = true
	f.spec.StartGuard = true
	f.spec.Configure = f.place
	return nil
}

// checkSettings refuses what a master or a node of the cluster would refuse, under the name of the
// flag.
func (f *devFlags) checkSettings() error {
	s := &f.spec
	m, n := master.Default(), nodemonitor.Default()
	m.Policy, m.Cutoff, m.Reserved, m.Weight = s.Policy, s.Cutoff, s.Reserved, s.Weight
	n.Policy, n.Cutoff, n.Reserved, n.Slots = s.Policy, s.Cutoff, s.Reserved, s.Slots
	given := map[string]any{"policy": s.Policy, "cutoff": s.Cutoff, "reserved": s.Reserved, "weight": s.Weight, "slots": s.Slots}
	for _, fault := range []error{m.Validate(), n.Validate()} {
		e, refused := errors.AsType[*config.FieldError](fault)
		if !refused {
			continue
		}
		if value, isFlag := given[e.Key]; isFlag { // the other settings are not the caller's, and refused at the start
			return fmt.Errorf("--%s %v: %s; nothing was started", strings.ReplaceAll(e.Key, "_", "-"), value, e.Problem)
		}
	}
	return nil
}

// checkAddresses refuses addresses that other machines reach, except that of the first frontend
// where it is secured.
func (f *devFlags) checkAddresses() error {
	for _, a := range []struct{ flag, address string }{{"listen", f.listen}, {"backends", f.backends}, {"web", f.web}} {
		host, _, err := net.SplitHostPort(a.address)
		ip := net.ParseIP(host)
		switch {
		case err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()):
		case err == nil && a.flag == "listen" && f.secure != "" && ip != nil && ip.IsUnspecified():
			return fmt.Errorf("--listen %q is no address by which others reach this machine; give one of its own", a.address)
		case err == nil && a.flag == "listen" && f.secure != "" && host != "":
		case err == nil && a.flag == "listen":
			return fmt.Errorf("--listen %q is no loopback address: others would reach this dev and run programs as you; add --secure DIR, which has them prove who they are, or use 127.0.0.1:PORT", a.address)
		default:
			return fmt.Errorf("--%s %q is no loopback address with a port, and dev serves this machine only; use 127.0.0.1:PORT, or start the daemons one by one", a.flag, a.address)
		}
	}
	return nil
}

// place sets the addresses of the first frontend and the first node.
func (f *devFlags) place(config any) {
	if f.secured != nil {
		f.secured.configure(config)
	}
	switch c := config.(type) {
	case *frontend.Config:
		if c.ID == "frontend-0" {
			c.Listen = f.listen
		}
	case *nodemonitor.Config:
		if c.ID == "node-0-000" {
			c.Listen = f.backends
		}
	}
}

// dev is a running "pigeon dev".
type dev struct {
	flags   *devFlags
	cluster *cluster.Cluster
	own     *connect.Cluster // to its frontends, for the web page
	web     *telemetry.Server
	page    *webpage.Page
	notice  *rendezvous.Notice
	line    Line
}

// startDev starts everything and returns when all of it serves; after an error
// nothing is left.
func startDev(ctx context.Context, f *devFlags) (_ *dev, err error) {
	if other, err := rendezvous.Find(rendezvous.Path()); err == nil {
		return nil, anotherDev(other)
	}
	d := &dev{flags: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	var security calls.Security
	if f.secure != "" {
		if f.secured, err = secureDev(f.secure, settings.DefaultSettings().Cluster, f.listen); err != nil {
			return nil, err
		}
		if security, err = f.secured.settings().Open([]string{f.listen}); err != nil {
			return nil, err
		}
	}
	folder := cmp.Or(f.spec.Dir, os.TempDir())
	if err := doctor.CheckDevFolder(doctor.Existing(folder)); err != nil {
		return nil, &api.Error{What: err.Error(), Subject: "the folder of journals and outputs, " + folder, Tried: "starting the cluster; nothing was started", Next: "correct that, or name another folder with --data or TMPDIR"}
	}
	d.cluster, err = cluster.Start(ctx, f.spec)
	if f.secured != nil {
		err = errors.Join(f.secured.failed, err)
	}
	if err != nil {
		return nil, err
	}
	if d.own, err = connect.Dial(client.Options{Addresses: d.cluster.Frontends(), Timeout: time.Second, Security: security}); err != nil {
		return nil, err
	}
	if err = d.openWeb(f.spec.Log); err != nil {
		return nil, err
	}
	d.line = Line{
		Ready: true, Frontends: d.cluster.Frontends(), Web: "http://" + d.web.Addr() + "/", Metrics: "http://" + d.web.Addr() + "/metrics", NATS: d.cluster.NATS(),
		Backends: d.cluster.Backends(), Data: d.cluster.Dir(),
	}
	if f.secured != nil {
		files := f.secured.settings()
		d.line.TLSCA, d.line.TokenFile = files.TLSCA, files.TokenFile
	}
	return d, d.announce()
}

func (d *dev) openWeb(log *slog.Logger) error {
	var places []webpage.Place
	for i, f := range d.own.Frontends() {
		places = append(places, webpage.Place{Name: fmt.Sprintf("frontend-%d", i), Source: f, Remote: true, Applications: applicationsAt(d.cluster.Web()[i])})
	}
	callers, err := credentials.Open(credentials.Options{LocalRole: identity.User, Log: log})
	if err != nil {
		return err
	}
	d.web = telemetry.NewServer(telemetry.ServerOptions{Addr: d.flags.web, Logger: log, Gatherer: d.cluster.Gatherer(), Security: telemetry.Security{Identifier: callers, Allow: access.MaySeePage}})
	d.page = webpage.New(places...)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { d.page.Watch(ctx) })
	d.web.OnStop(func() { stop(); watching.Wait(); d.page.Close() })
	for _, pattern := range d.page.Patterns() {
		d.web.Handle(pattern, d.page)
	}
	return d.web.Start()
}

// applicationsAt returns what reads the applications of a frontend whose page is at an address.
func applicationsAt(address string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/applications", http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }() // only read
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxApplications))
		if err == nil && (answer.StatusCode != http.StatusOK || !json.Valid(text)) {
			err = fmt.Errorf("its frontend answered %s: %.200s", answer.Status, text)
		}
		return json.RawMessage(text), err
	}
}

// maxApplications bounds the list of a frontend's applications, in bytes.
const maxApplications = 4 << 20

// announce lets the commands of this user find this dev.
func (d *dev) announce() (err error) {
	d.notice, err = rendezvous.Publish(rendezvous.Path(), rendezvous.Dev{
		PID: os.Getpid(), Frontends: d.line.Frontends, Web: d.line.Web, NATS: d.line.NATS,
		TLSCA: d.line.TLSCA, TokenFile: d.line.TokenFile,
	})
	if taken, ok := errors.AsType[*rendezvous.TakenError](err); ok {
		return anotherDev(taken.By)
	}
	if err != nil {
		return fmt.Errorf("this dev could not be announced to the commands: %w", err)
	}
	return nil
}

// anotherDev refuses a second dev: commands could not know which of them is meant.
func anotherDev(other rendezvous.Dev) error {
	return &api.Error{
		What:  (&rendezvous.TakenError{By: other}).Error(),
		Tried: "looking for it in " + rendezvous.Path(),
		Next:  "use or stop that one, or set XDG_RUNTIME_DIR to another folder for this one and its commands",
	}
}

// serve prints that all is ready and waits for the end.
func (d *dev) serve(cmd *cobra.Command, output cli.OutputFormat) error {
	var err error
	if output == cli.OutputJSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), &d.line)
	} else {
		err = d.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	select {
	case <-cmd.Context().Done():
		return nil
	case err := <-d.cluster.Failed():
		return fmt.Errorf("the cluster is stopped because a part of it failed: %w", err)
	}
}

// shownNodes bounds the nodes that the text form lists.
const shownNodes = 4

func (d *dev) print(out io.Writer) error {
	f, l := d.flags, &d.line
	fmt.Fprintf(out, "pigeon is ready after %.2f s: %s, %s, %s of %s\n\n", l.Took,
		sched.Count(len(l.Frontends), "frontend", "frontends"), sched.Count(f.groups, "group", "groups"), sched.Count(f.nodes, "node", "nodes"), sched.Count(f.spec.Slots, "slot", "slots"))
	for _, address := range l.Frontends {
		fmt.Fprintf(out, "  frontend  %-24s applications submit here\n", address)
	}
	for i, p := range l.Backends {
		if i == shownNodes {
			fmt.Fprintf(out, "  backends  ... and at %d more nodes (-o json lists all)\n", len(l.Backends)-i)
			break
		}
		fmt.Fprintf(out, "  backends  %-24s register here with node %s\n", p.Address, p.Node)
	}
	fmt.Fprintf(out, "  web       %s\n  metrics   %s\n", l.Web, l.Metrics)
	if l.NATS != "" {
		fmt.Fprintf(out, "  nats      %s\n", l.NATS)
	}
	kept := "removed at the end; keep it with --data DIR"
	if f.spec.Dir != "" {
		kept = "kept"
	}
	fmt.Fprintf(out, "  data      %s (%s)\n", l.Data, kept)
	if f.spec.OTLP != "" {
		fmt.Fprintf(out, "  traces    to %s\n", f.spec.OTLP)
	}
	if f.secured != nil {
		f.secured.explain(out, l.Frontends[0])
	}
	setting := ""
	if namesFrontend() {
		setting = "  export PIGEON_FRONTEND=" + l.Frontends[0] + "\n"
		if f.secured != nil {
			setting += fmt.Sprintf("  export PIGEON_TLS_CA=%s PIGEON_TOKEN_FILE=%s\n", text.Quote(l.TLSCA), text.Quote(l.TokenFile))
		}
	}
	_, err := fmt.Fprintf(out, `
Try in another terminal, Ctrl-C ends it:
%s  pigeon run -- echo hello
  pigeon submit --sleep 2s --tasks 40
  pigeon status
`, setting)
	return err
}

// namesFrontend reports whether the client.yaml of this user or machine names a frontend, to which commands go
// then.
func namesFrontend() bool {
	file, err := connect.UserFile()
	if err != nil || file == "" {
		return false
	}
	c, _, err := config.Load(connect.DefaultClient(), config.Source{File: file})
	return err == nil && len(c.Frontend) > 0
}

// close ends everything that was started, at any stage.
func (d *dev) close() (err error) {
	if d.notice != nil {
		err = d.notice.Withdraw()
	}
	if d.web != nil {
		d.web.Stop()
		d.page.Close()
	}
	if d.own != nil {
		err = errors.Join(err, d.own.Close())
	}
	if d.cluster != nil {
		err = errors.Join(err, d.cluster.Close())
	}
	return err
}
