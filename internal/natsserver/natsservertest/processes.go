package natsservertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
)

// optionsVariable makes this test program a server with the options in it.
const optionsVariable = "PIGEON_TEST_NATS_SERVER"

// Main is for TestMain of tests with [Processes]: it runs a server when this program was started
// as one, else the tests, with a check for leaked goroutines.
func Main(m *testing.M) {
	text, server := os.LookupEnv(optionsVariable)
	if !server {
		goleak.VerifyTestMain(m)
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var o natsserver.Options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, err := natsserver.Start(o)
	if err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	<-asked
	return s.Close()
}

// answer bounds the wait for one answer: without a leader there is none.
const answer = 500 * time.Millisecond

// Processes is servers that are processes, so that they can be killed and stopped.
type Processes struct {
	t       testing.TB
	Options []natsserver.Options
	running []*exec.Cmd // nil where one has ended
}

// StartProcesses starts servers until the end of the test; see [Start].
func StartProcesses(t testing.TB, servers int, change ...func(*natsserver.Options)) *Processes {
	t.Helper()
	p := &Processes{t: t, Options: options(t, servers, change), running: make([]*exec.Cmd, servers)}
	t.Cleanup(func() {
		for i := range p.running {
			p.Signal(i, syscall.SIGCONT)
			p.Kill(i)
		}
	})
	for i := range servers {
		p.Start(i)
	}
	p.AwaitLeader()
	return p
}

// URL returns the URLs of all servers.
func (p *Processes) URL() string { return urls(p.Options) }

// Start starts a server that does not run, and returns when it serves.
func (p *Processes) Start(i int) {
	p.t.Helper()
	text, err := json.Marshal(p.Options[i])
	if err != nil {
		p.t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), optionsVariable+"="+string(text))
	c.Stderr = os.Stderr
	c.SysProcAttr = attributes()
	out, err := c.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.running[i] = c
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		p.t.Fatalf("server %d: %q, %v", i, line, err)
	}
}

// Kill ends a server as a loss of its machine would, unless it has ended.
func (p *Processes) Kill(i int) {
	p.t.Helper()
	if p.running[i] == nil {
		return
	}
	p.Signal(i, syscall.SIGKILL)
	_ = p.running[i].Wait() // it was killed
	p.running[i] = nil
}

// End ends a server in order, and returns when it has ended.
func (p *Processes) End(i int) {
	p.t.Helper()
	p.Signal(i, syscall.SIGTERM)
	if err := p.running[i].Wait(); err != nil {
		p.t.Errorf("server %d: %v", i, err)
	}
	p.running[i] = nil
}

// Signal sends a signal to a server that runs.
func (p *Processes) Signal(i int, s syscall.Signal) {
	p.t.Helper()
	if p.running[i] == nil {
		return
	}
	if err := p.running[i].Process.Signal(s); err != nil {
		p.t.Fatalf("server %d: %v", i, err)
	}
}

// Number returns the number of the server of a name.
func (p *Processes) Number(name string) int {
	p.t.Helper()
	for i, o := range p.Options {
		if o.Name == name {
			return i
		}
	}
	p.t.Fatalf("there is no server %q", name)
	return 0
}

// AwaitLeader waits until JetStream answers.
func (p *Processes) AwaitLeader() {
	p.t.Helper()
	p.with(func(js jetstream.JetStream) {
		await.Until(p.t, "JetStream answers", func() bool {
			ctx, cancel := context.WithTimeout(p.t.Context(), answer)
			defer cancel()
			_, err := js.AccountInfo(ctx)
			return err == nil
		})
	})
}

// Leader returns the number of the server that leads a stream, and waits until all its replicas
// have what the leader has.
func (p *Processes) Leader(stream string) (leader int) {
	p.t.Helper()
	p.with(func(js jetstream.JetStream) {
		await.Until(p.t, "all replicas of "+stream+" are current", func() bool {
			ctx, cancel := context.WithTimeout(p.t.Context(), answer)
			defer cancel()
			s, err := js.Stream(ctx, stream)
			if err != nil || s.CachedInfo().Cluster == nil || s.CachedInfo().Cluster.Leader == "" {
				return false
			}
			c := s.CachedInfo().Cluster
			for _, r := range c.Replicas {
				if !r.Current || r.Offline {
					return false
				}
			}
			leader = p.Number(c.Leader)
			return len(c.Replicas) == s.CachedInfo().Config.Replicas-1
		})
	})
	return leader
}

// Connect connects with any of the servers, and with another when it is gone.
func (p *Processes) Connect() (*nats.Conn, error) {
	return nats.Connect(p.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(time.Second))
}

func (p *Processes) with(use func(jetstream.JetStream)) {
	p.t.Helper()
	nc, err := p.Connect()
	if err != nil {
		p.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		p.t.Fatal(err)
	}
	use(js)
}

// options returns those of the servers of a cluster on free ports.
func options(t testing.TB, servers int, change []func(*natsserver.Options)) (all []natsserver.Options) {
	t.Helper()
	dir := t.TempDir()
	free := ports.Addresses(t, 2*servers)
	routes := free[servers:]
	for i := range servers {
		o := natsserver.Options{
			Listen: free[i], Name: fmt.Sprintf("nats-%d", i), JetStream: true, MaxStore: 64 << 20,
			StoreDir: filepath.Join(dir, fmt.Sprint(i)),
		}
		if servers > 1 {
			o.ClusterName, o.ClusterListen, o.Routes = "test", routes[i], routes
		}
		for _, f := range change {
			f(&o)
		}
		all = append(all, o)
	}
	return all
}

func urls(all []natsserver.Options) string {
	list := make([]string, len(all))
	for i, o := range all {
		list[i] = "nats://" + o.Listen
	}
	return strings.Join(list, ",")
}
