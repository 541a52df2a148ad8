package accounts

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// machine has root, alice (1000) and toor, who is root by another name.
func machine(name string) (*Account, error) {
	ids := map[string]uint32{"root": 0, "toor": 0, "alice": 1000, "bob": 1001}
	id, ok := ids[name]
	if !ok {
		return nil, user.UnknownUserError(name)
	}
	return &Account{Name: name, Home: "/home/" + name, As: &guard.User{UID: id, GID: id}}, nil
}

func accountsOf(t *testing.T, self string, cfg Config) *Accounts {
	t.Helper()
	own, err := machine(self)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAccounts(cfg, own.As.UID, Account{Name: self, Home: own.Home})
	if err != nil {
		t.Fatal(err)
	}
	a.lookup = machine
	return a
}

func writeUsers(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const self = ^uint32(0) // the node monitor's own user, without a change

// TestAsWhom is the rule: the user by run_as, the node monitor's user and the submitter.
func TestAsWhom(t *testing.T) {
	mapping := writeUsers(t, "alice@corp: alice\nbatch: '7000:7001:7002'\nchief: root\ngone: missing\n")
	submitter := Config{RunAs: Submitter}
	oneMachine := Config{RunAs: Submitter, OneMachine: true}
	mapped := Config{RunAs: Submitter, UsersFile: mapping}
	for _, tc := range []struct {
		node string
		cfg  Config
		who  string
		uid  uint32
		why  string // of a refusal
	}{
		{"root", submitter, "alice", 1000, ""},
		{"root", submitter, "carol", 0, "no user named carol"},
		{"root", submitter, "", 0, "nobody has proven"},
		{"root", submitter, "root", 0, "allow_root"},
		{"root", submitter, "toor", 0, "allow_root"},
		{"root", Config{RunAs: Submitter, AllowRoot: true}, "root", 0, ""},
		{"root", oneMachine, "root", 0, ""},
		{"root", oneMachine, "", 0, ""},
		{"root", oneMachine, "bob", 1001, ""},
		{"root", oneMachine, "uid:4242", 4242, ""},
		{"root", submitter, "uid:4242", 0, "no user named uid:4242"},
		{"root", oneMachine, "uid:4294967295", 0, "no user named"},
		{"alice", oneMachine, "uid:4242", 0, "run_as be daemon"},
		{"root", mapped, "alice@corp", 1000, ""},
		{"root", mapped, "batch", 7000, ""},
		{"root", mapped, "alice", 0, "users_file does not name it"},
		{"root", mapped, "root", 0, "users_file does not name it"},
		{"root", mapped, "chief", 0, "allow_root"},
		{"root", mapped, "gone", 0, "no user named gone"},
		{"root", Config{RunAs: "alice"}, "bob", 1000, ""},
		{"root", Config{RunAs: "alice"}, "", 1000, ""},
		{"root", Config{RunAs: "toor", OneMachine: true}, "bob", 0, "allow_root"},
		{"root", Config{RunAs: Daemon, AllowRoot: true}, "bob", self, ""},

		{"alice", submitter, "alice", self, ""},
		{"alice", submitter, "bob", 0, "run_as be daemon"},
		{"alice", submitter, "root", 0, "run_as be daemon"},
		{"alice", submitter, "", 0, "nobody has proven"},
		{"alice", oneMachine, "", self, ""},
		{"alice", oneMachine, "bob", 0, "the node monitor runs as user alice"},
		{"alice", mapped, "alice@corp", self, ""},
		{"alice", mapped, "alice", 0, "users_file does not name it"},
		{"alice", mapped, "batch", 0, "run_as be daemon"},
		{"alice", Config{RunAs: Daemon}, "bob", self, ""},
		{"alice", Config{RunAs: "alice"}, "bob", self, ""},
	} {
		a := accountsOf(t, tc.node, tc.cfg)
		for range 2 { // the second answer is remembered
			account, f := a.Of(tc.who)
			switch {
			case tc.why != "":
				if f == nil || account != nil || !strings.Contains(f.What+f.Next, tc.why) {
					t.Errorf("%s, %+v, submitter %q: %+v %+v, want a refusal with %q", tc.node, tc.cfg, tc.who, account, f, tc.why)
				}
			case f != nil || (account.As == nil) != (tc.uid == self) || account.As != nil && account.As.UID != tc.uid:
				t.Errorf("%s, %+v, submitter %q: %+v %+v, want user %d", tc.node, tc.cfg, tc.who, account, f, tc.uid)
			}
		}
	}
	var none *Accounts
	if _, f := none.Of("alice"); f == nil || none.Others() {
		t.Error("without accounts something runs")
	}
}

// TestWhatIsRememberedIsAskedAgain: a user who is removed cannot start processes forever.
func TestWhatIsRememberedIsAskedAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	a := accountsOf(t, "root", Config{RunAs: Submitter})
	asked := 0
	a.now = func() time.Time { return now }
	a.lookup = func(name string) (*Account, error) {
		if asked++; asked > 1 {
			return nil, user.UnknownUserError(name)
		}
		return machine(name)
	}
	for _, after := range []time.Duration{0, rememberFor - 1, 1} {
		now = now.Add(after)
		_, f := a.Of("alice")
		if gone := after == 1; gone != (f != nil) {
			t.Errorf("after %v more: %+v", after, f)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

func TestSettings(t *testing.T) {
	for _, tc := range []struct {
		root bool
		cfg  Config
		key  string
	}{
		{true, Config{RunAs: Submitter}, ""},
		{true, Config{}, "run_as"},
		{true, Config{RunAs: Daemon}, "run_as"},
		{true, Config{RunAs: Daemon, AllowRoot: true}, ""},
		{false, Config{RunAs: Daemon}, ""},
		{true, Config{RunAs: "root"}, "run_as"},
		{true, Config{RunAs: "alice"}, ""},
		{false, Config{RunAs: "bob"}, "run_as"},
		{false, Config{RunAs: "alice"}, ""},
		{false, Config{RunAs: Daemon, UsersFile: "x"}, "users_file"},
		{true, Config{RunAs: Submitter, Env: []string{"A", "B_2=", "C=d=e"}}, ""},
		{true, Config{RunAs: Submitter, Env: []string{"A", ""}}, "task_env"},
		{true, Config{RunAs: Submitter, Env: []string{"2A=x"}}, "task_env"},
		{true, Config{RunAs: Submitter, Env: []string{"A-B=x"}}, "task_env"},
		{true, Config{RunAs: Submitter, Env: []string{"PIGEON_JOB=x"}}, "task_env"},
	} {
		own := "alice"
		if tc.root {
			own = "root"
		}
		if key, problem := tc.cfg.fault(tc.root, own); key != tc.key || (key == "") != (problem == "") {
			t.Errorf("%s, %+v: %q %q, want a fault of %q", own, tc.cfg, key, problem, tc.key)
		}
	}
}

func TestUsersFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"a: alice\n":                    "",
		"a: '1:2'\n":                    "",
		"a: '1:'\n":                     "local user of a",
		"a: '4294967295:1'":             "local user of a", // stands for no change
		"a: ''\n":                       "local user of a",
		"- alice\n":                     "SUBMITTER: LOCAL-USER",
		"a: b\na: c\n":                  "already defined",
		"a: {b: c}\n":                   "SUBMITTER: LOCAL-USER",
		"a: " + "x: y: z\n":             "SUBMITTER: LOCAL-USER",
		strings.Repeat("#", maxUsers+1): "the limit",
	} {
		_, err := readUsers(writeUsers(t, text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	if _, err := readUsers(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) && err == nil {
		t.Error("a missing file was read")
	}
	open := writeUsers(t, "a: root\n")
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readUsers(open); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that everybody may write: %v", err)
	}
}

// TestEnvironment: processes have nothing of the node monitor's environment except what
// is listed.
func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/p")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("LC_ALL", "")
	t.Setenv("TZ", "UTC")
	t.Setenv("TMPDIR", "/own/tmp")
	t.Setenv("SECRET", "s")
	t.Setenv("WANTED", "w")
	t.Setenv("JAVA_HOME", "/java")
	a := accountsOf(t, "root", Config{RunAs: Submitter, Env: []string{"WANTED", "SET=to", "ABSENT", "LANG=de"}})
	alice, f := a.Of("alice")
	if f != nil {
		t.Fatal(f)
	}
	env := a.Environment(alice, "JAVA_HOME")
	want := []string{"HOME=/home/alice", "USER=alice", "LOGNAME=alice", "SHELL=/bin/sh", "JAVA_HOME=/java", "PATH=/p", "LANG=C.UTF-8", "TZ=UTC", "WANTED=w", "SET=to", "LANG=de"}
	if !slices.Equal(env, want) {
		t.Errorf("%q\nwant %q", env, want)
	}
	if own := Own(); !slices.Contains(own.Environment(&own.self), "TMPDIR=/own/tmp") {
		t.Error("the node monitor's own user has another folder for temporary files")
	}
	t.Setenv("PATH", "")
	if env := given(nil, os.LookupEnv); !slices.Contains(env, "PATH="+withoutPath) {
		t.Errorf("without a PATH: %q", env)
	}
}

// TestThisMachine looks up real users.
func TestThisMachine(t *testing.T) {
	own, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	a, err := New(Config{RunAs: Submitter, OneMachine: true})
	if err != nil {
		t.Fatal(err)
	}
	got, f := a.Of(own.Username)
	if f != nil || got.Name != own.Username || got.Home != own.HomeDir {
		t.Errorf("%+v %+v, want %+v", got, f, own)
	}
	if _, err := user.Lookup("nobody"); err != nil {
		t.Skip(err)
	}
	nobody, f := a.Of("nobody")
	if os.Geteuid() != 0 {
		if f == nil {
			t.Error("nobody's task would run")
		}
		return
	}
	if f != nil || nobody.As.UID == 0 || nobody.As.GID == 0 || len(nobody.As.Groups) == 0 {
		t.Errorf("%+v %+v", nobody, f)
	}
}

// A user whom the node cannot look up for lack of an open file is no unknown one: the node is short, and looks
// again for the next task.
func TestNoOpenFile(t *testing.T) {
	a := accountsOf(t, "root", Config{RunAs: Submitter})
	a.lookup = func(string) (*Account, error) {
		return nil, &os.PathError{Op: "open", Path: "/etc/passwd", Err: syscall.EMFILE}
	}
	if _, f := a.Of("alice"); f == nil || !f.IsShortage() || !strings.Contains(f.What, "user alice") || !strings.Contains(f.What, "too many open files") {
		t.Errorf("%+v", f)
	}
	a.lookup = machine
	if as, f := a.Of("alice"); f != nil || as.As.UID != 1000 {
		t.Errorf("with open files again: %+v", f)
	}
}
