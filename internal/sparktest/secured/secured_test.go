package secured

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sparktest"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline of a driver on a loaded machine.
const deadline = 10 * time.Minute

// secrets are the files of a cluster.
type secrets struct {
	t         *testing.T
	authority *authority.Authority
	tokens    string
}

func newSecrets(t *testing.T) *secrets {
	t.Helper()
	dir := t.TempDir()
	a, err := authority.Init(filepath.Join(dir, "pki"), daemon.DefaultSettings().Cluster, authority.AuthorityLifetime, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := &secrets{t, a, filepath.Join(dir, "tokens")}
	s.token("first", "first", s.tokens)
	return s
}

// token makes an access token of a user, and returns its file.
func (s *secrets) token(name, user, file string) string {
	s.t.Helper()
	text, _, err := tokens.Create(file, tokens.Order{User: user, Role: identity.User}, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(s.tokens), name+".token")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// configure gives each daemon its certificate.
func (s *secrets) configure(config any) {
	switch c := config.(type) {
	case *frontend.Config:
		s.secure(&c.SecuritySettings, identity.Frontend, c.ID)
	case *master.Config:
		s.secure(&c.SecuritySettings, identity.Master, strconv.Itoa(c.Group))
	case *nodemonitor.Config:
		s.secure(&c.SecuritySettings, identity.Node, c.ID)
		c.RunAs, c.AllowRoot = "daemon", true // alice is no user of this machine
	}
}

func (s *secrets) secure(to *daemon.SecuritySettings, role identity.Role, name string) {
	dir := filepath.Join(s.authority.Dir(), string(role)+"-"+name)
	if authority.Vacant(dir) == nil {
		i, err := s.authority.Issue(authority.Request{Role: role, Name: name}, time.Now())
		if err == nil {
			err = i.Write(dir)
		}
		if err != nil {
			s.t.Error(err)
		}
	}
	to.TLSCA, to.TokensFile = s.ca(), s.tokens
	to.TLSCert, to.TLSKey = filepath.Join(dir, authority.CertFile), filepath.Join(dir, authority.KeyFile)
}

func (s *secrets) ca() string { return filepath.Join(s.authority.Dir(), authority.CAFile) }

// TestApplications: 'pigeon spark' and stock spark-submit run on a secured cluster with a token in a
// file; another cluster's token and authority are refused with what to do.
func TestApplications(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes minutes; leave -short out")
	}
	spark := sparktest.Find(t, "4.1")
	s := newSecrets(t)
	alice := s.token("alice", "alice", s.tokens)
	c := sparktest.Start(t, sparktest.Options{Configure: s.configure})
	script, err := filepath.Abs(filepath.Join("..", "testdata", "sum.py"))
	if err != nil {
		t.Fatal(err)
	}
	conf := func(token, ca string) []string {
		return []string{"spark.executor.instances=1", "spark.executor.memory=512m", "spark.ui.enabled=false", "spark.pigeon.token.file=" + token, "spark.pigeon.tls.ca=" + ca}
	}
	for name, j := range map[string]sparktest.Job{
		"pigeon spark": {Conf: conf(alice, s.ca()), Script: script, Args: []string{"20"}},
		"spark-submit": {Command: stock(spark, c, conf(alice, s.ca()), script), Env: []string{"SPARK_LOCAL_IP=127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.Run(t, spark, j)
			if status := d.Wait(t, deadline); status != 0 || strings.TrimSpace(d.Stdout()) != "190" {
				t.Errorf("status %d, %q", status, d.Stdout())
			}
			c.Clean(t)
		})
	}
	other := newSecrets(t)
	for name, r := range map[string]struct {
		conf []string
		want string
	}{
		"another cluster's token":     {conf(other.token("eve", "eve", other.tokens), s.ca()), "not known here"},
		"another cluster's authority": {conf(alice, other.ca()), "spark.pigeon.tls.ca"},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.Run(t, spark, sparktest.Job{Conf: r.conf, Script: script, Args: []string{"20"}})
			if status := d.Wait(t, deadline); status == 0 || !strings.Contains(d.Stderr()+d.Stdout(), r.want) {
				t.Errorf("status %d, and it does not say %q", status, r.want)
			}
			c.Clean(t)
		})
	}
}

// stock returns the command line of Spark's own spark-submit.
func stock(s sparktest.Spark, c *sparktest.Cluster, conf []string, script string) []string {
	words := []string{s.Program("spark-submit"), "--master", "spark-" + c.Master(), "--jars", s.Jar}
	for _, setting := range conf {
		words = append(words, "--conf", setting)
	}
	return append(words, script, "20")
}
