package accounts

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// rememberFor is how long a finding about a submitter counts: a user who is removed from the
// machine can start processes for that long.
const rememberFor = 10 * time.Second

// remembered bounds the submitters that are remembered.
const remembered = 10_000

// Accounts knows as which users submitters run. Its methods may be called from any goroutine.
type Accounts struct {
	cfg    Config
	id     uint32 // of the node monitor's user
	self   Account
	lookup func(name string) (*Account, error)
	now    func() time.Time
	env    []string // from the node monitor's environment and task_env

	looking sync.Mutex // held by the one that looks somebody up, across its I/O; taken before mu

	mu    sync.Mutex
	known map[asked]finding
}

// asked is what was looked up: a submitter, or a user that the settings name.
type asked struct {
	name      string
	submitter bool
}

// finding is what was found about a submitter.
type finding struct {
	at      time.Time
	account *Account
	fault   *guard.Fault
}

// New returns the accounts of this machine. The settings were checked by [Config.Fault]; the
// error is about the file of users.
func New(cfg Config) (*Accounts, error) {
	id, name, home := own()
	return newAccounts(cfg, id, Account{Name: name, Home: home})
}

func newAccounts(cfg Config, id uint32, self Account) (*Accounts, error) {
	a := &Accounts{cfg: cfg, id: id, self: self, lookup: lookup, now: time.Now, known: map[asked]finding{}}
	if cfg.UsersFile != "" {
		if _, err := readUsers(cfg.UsersFile); err != nil {
			return nil, err
		}
	}
	a.env = given(cfg.Env, os.LookupEnv)
	return a, nil
}

// Others reports whether processes run as users other than the node monitor's own: their
// folders lie where those must be able to enter.
func (a *Accounts) Others() bool {
	return a != nil && a.id == 0 && a.cfg.RunAs != Daemon
}

// Own returns accounts under which everything runs as the node monitor's own user.
func Own() *Accounts {
	id, name, home := own()
	a, _ := newAccounts(Config{RunAs: Daemon}, id, Account{Name: name, Home: home}) // reads no file
	return a
}

// Of returns the account under which the processes of a submitter run, or why they do not run here. It may read
// files, and takes as long as that.
func (a *Accounts) Of(submitter string) (*Account, *guard.Fault) {
	if as, f, known := a.Remembered(submitter); known {
		return as, f
	}
	a.looking.Lock()
	defer a.looking.Unlock()
	if as, f, known := a.Remembered(submitter); known { // by now
		return as, f
	}
	key, _, _ := a.ask(submitter)
	f := finding{at: a.now()}
	if f.account, f.fault = a.find(key); f.fault != nil && f.fault.IsShortage() { // which is over soon
		return f.account, f.fault
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= remembered {
		clear(a.known)
	}
	a.known[key] = f
	return f.account, f.fault
}

// Remembered returns what Of returns, without I/O; known is false when Of would have to look the submitter up.
func (a *Accounts) Remembered(submitter string) (as *Account, f *guard.Fault, known bool) {
	key, as, f := a.ask(submitter)
	if as != nil || f != nil {
		return as, f, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, known := a.known[key]
	if !known || a.now().Sub(found.at).Abs() >= rememberFor {
		return nil, nil, false
	}
	return found.account, found.fault, true
}

// ask returns the user who has to be looked up for a submitter, unless the settings alone decide.
func (a *Accounts) ask(submitter string) (asked, *Account, *guard.Fault) {
	name := submitter
	switch {
	case a == nil:
		return asked{}, nil, &guard.Fault{What: "as whom tasks run is not known here", Next: "report this: a node monitor must know it"}
	case a.cfg.RunAs == Daemon:
		return asked{}, &a.self, nil
	case a.cfg.RunAs != Submitter:
		name = a.cfg.RunAs
	case submitter == "" && a.cfg.OneMachine:
		name = a.self.Name
	case submitter == "":
		return asked{}, nil, &guard.Fault{
			What: "nobody has proven who submitted it, so that this node does not know as whom to run it (run_as: submitter)",
			Next: "submit it with a token, or have the node's run_as name a user for all tasks",
		}
	}
	if own := submitter == "" || a.cfg.UsersFile == ""; own && a.id != 0 && name == a.self.Name {
		return asked{}, &a.self, nil
	}
	return asked{name, name == submitter}, nil, nil
}

// find looks up a user: a submitter in the file of users, where there is one.
func (a *Accounts) find(k asked) (*Account, *guard.Fault) {
	name := k.name
	account, err := a.local(k)
	if err != nil && a.id == 0 && name == a.self.Name && !a.mapped(k) { // a machine without a list of users
		account, err = &Account{Name: name, Home: a.self.Home, As: &guard.User{}}, nil
	}
	if err != nil {
		return nil, unknown(name, err)
	}
	switch {
	case a.id != 0 && account.As.UID != a.id:
		return nil, &guard.Fault{
			What: fmt.Sprintf("it was submitted by user %s, and the node monitor runs as user %s, who cannot run programs as another user", name, a.self.Name),
			Next: fmt.Sprintf("run the node monitor as root, or have its run_as be daemon, which runs everybody's tasks as %s", a.self.Name),
		}
	case a.id != 0:
		return &a.self, nil
	case account.As.UID == 0 && !a.cfg.AllowRoot && (!a.cfg.OneMachine || a.cfg.RunAs != Submitter):
		return nil, &guard.Fault{
			What: fmt.Sprintf("user %s is root on this node, and nothing runs as root here (allow_root)", name),
			Next: "submit it as another user, or set allow_root: true at the nodes",
		}
	}
	return account, nil
}

// mapped reports whether the file of users decides which local user it is.
func (a *Accounts) mapped(k asked) bool { return k.submitter && a.cfg.UsersFile != "" }

func (a *Accounts) local(k asked) (*Account, error) {
	name := k.name
	if a.mapped(k) {
		users, err := readUsers(a.cfg.UsersFile)
		if err != nil {
			return nil, err
		}
		to, ok := users[name]
		if !ok {
			return nil, errUnnamed
		}
		if numbers, ok := parseNumbers(to); ok {
			return &Account{Name: name, Home: "/", As: numbers}, nil
		}
		name = to
	}
	if id, numbered := strings.CutPrefix(name, unlisted); numbered && k.submitter && a.cfg.OneMachine {
		if n, err := number(id); err == nil {
			return &Account{Name: name, Home: "/", As: &guard.User{UID: n, GID: noGroup, Groups: []uint32{noGroup}}}, nil
		}
	}
	return a.lookup(name)
}

// unlisted begins the names of users that a machine does not list; the number follows. Only the
// kernel of this machine names users like that; it does not state their groups.
const unlisted = "uid:"

// noGroup is the group that stands for none.
const noGroup = 65_534

// errUnnamed means that there is a file of users, and that it does not name the submitter.
var errUnnamed = errors.New("the node's users_file does not name it")

func unknown(name string, err error) *guard.Fault {
	f := &guard.Fault{What: fmt.Sprintf("this node cannot run tasks of user %s: %v", name, err), Next: "see the node's users"}
	var missing user.UnknownUserError
	switch {
	case guard.IsShortage(err):
		f = guard.FaultOf("this node cannot look up user "+name, err)
	case errors.Is(err, errUnnamed):
		f.Next = "add a line with the submitter and the local user to the file, or submit as another user"
	case errors.As(err, &missing):
		f.What = fmt.Sprintf("this node has no user named %s, who submitted it", name)
		f.Next = "add the user to the node, or name the local user for this submitter in the node's users_file"
	}
	return f
}
