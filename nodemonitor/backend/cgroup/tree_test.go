package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a machine of folders and files: what is written can be read there.
type fake struct {
	*system
	t         *testing.T
	root      string          // where cgroup v2 is mounted
	delegated map[string]bool // by attribute
}

// newFake returns a machine whose process 100, of that user, is in a cgroup.
func newFake(t *testing.T, uid int, own string) *fake {
	t.Helper()
	f := &fake{t: t, root: filepath.Join(t.TempDir(), "cg"), delegated: map[string]bool{}}
	f.system = &system{
		proc: filepath.Join(t.TempDir(), "proc"), pid: 100, uid: uid, create: os.O_CREATE | os.O_APPEND,
		xattr: func(path, name string) string {
			if name == "trusted.delegate" && f.delegated[path] {
				return "1"
			}
			return ""
		},
		isV2:   func(path string) bool { return strings.HasPrefix(path, f.root) },
		remove: os.RemoveAll,
	}
	f.file("proc/self/cgroup", "1:name=systemd:/elsewhere\n0::"+own+"\n")
	f.file("proc/self/mountinfo", fmt.Sprintf("20 1 0:5 / /proc rw - proc proc rw\n30 20 0:26 / %s rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", f.root))
	f.process(100, 1)
	f.cgroup(own, "cpuset cpu io memory pids", 100)
	return f
}

// file makes a file: below "proc", else below where cgroup v2 is mounted.
func (f *fake) file(path, text string) {
	f.t.Helper()
	full := filepath.Join(f.root, path)
	if below, found := strings.CutPrefix(path, "proc/"); found {
		full = filepath.Join(f.proc, below)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) process(pid, parent int) {
	f.t.Helper()
	f.file(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (a (b) c) S %d 1 1", pid, parent))
}

func (f *fake) cgroup(path, controllers string, pids ...int) {
	f.t.Helper()
	f.file(path+"/cgroup.controllers", controllers+"\n")
	f.file(path+"/cgroup.procs", strings.ReplaceAll(strings.Trim(fmt.Sprint(pids), "[]"), " ", "\n")+"\n")
}

// read returns what is in a file of a cgroup, "" when it is not there.
func (f *fake) read(path string) string {
	text, err := os.ReadFile(filepath.Join(f.root, path))
	if err != nil {
		return ""
	}
	return string(text)
}

// TestOpenUsesWhatWasDelegated: by systemd's attribute, by the owner of the folder, or by the
// setting; the processes move into a cgroup of their own, and the controllers are handed down.
func TestOpenUsesWhatWasDelegated(t *testing.T) {
	const unit = "/system.slice/node.service"
	for name, prepare := range map[string]func(f *fake) (setting, root string){
		"attribute": func(f *fake) (string, string) { f.delegated[filepath.Join(f.root, unit)] = true; return "", unit },
		"owner":     func(f *fake) (string, string) { f.uid = os.Geteuid(); return "", unit },
		"setting":   func(f *fake) (string, string) { f.cgroup("/ours", "cpu memory pids"); return f.root + "/ours", "/ours" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 0, unit)
			setting, root := prepare(f)
			if name == "owner" && f.uid == 0 {
				t.Skip("this test runs as root, whose folders show nothing")
			}
			tree, err := openTree(setting, f.system)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Root() != filepath.Join(f.root, root) || len(tree.Lacks()) != 0 {
				t.Errorf("it uses %s, without %v", tree.Root(), tree.Lacks())
			}
			if got := f.read(root + "/cgroup.subtree_control"); got != "+cpu+memory+pids" {
				t.Errorf("the controllers handed down are %q", got)
			}
			if got, want := f.read(root+"/daemon/cgroup.procs"), map[bool]string{true: "", false: "100"}[name == "setting"]; got != want {
				t.Errorf("the processes %q moved, want %q", got, want)
			}
		})
	}
}

// TestOpenTouchesNothingOfOthers: without a sign that a cgroup is ours nothing is written, also
// by root, who could.
func TestOpenTouchesNothingOfOthers(t *testing.T) {
	const own = "/user.slice/session-1.scope"
	for name, c := range map[string]struct {
		setting string
		prepare func(f *fake)
		want    string
	}{
		"root's session": {"", func(*fake) {}, "was not delegated"},
		"another's processes": {"", func(f *fake) {
			f.delegated[filepath.Join(f.root, own)] = true
			f.process(7, 1)
			f.cgroup(own, "cpu memory pids", 100, 7)
		}, "holds process 7"},
		"the parent": {"", func(f *fake) {
			f.delegated[filepath.Join(f.root, own)] = true
			f.process(100, 7)
			f.process(7, 1)
			f.cgroup(own, "cpu memory pids", 7, 100)
		}, "holds process 7"},
		"no cgroup v2":   {"", func(f *fake) { f.file("proc/self/cgroup", "4:memory:/x\n") }, "has no cgroup v2"},
		"not mounted":    {"", func(f *fake) { f.file("proc/self/mountinfo", "20 1 0:5 / /proc rw - proc proc rw\n") }, "no cgroup v2 is mounted"},
		"outside":        {"", func(f *fake) { f.file("proc/self/cgroup", "0::/../../x\n") }, "was not delegated"},
		"off":            {Off, func(*fake) {}, `is "off"`},
		"a plain folder": {"/tmp/no-cgroup", func(*fake) {}, "is not below a folder of cgroup v2"},
		"cgroup v1": {"", func(f *fake) {
			f.delegated[filepath.Join(f.root, own)] = true
			f.file(own+"/cgroup.controllers", "hugetlb\n")
		}, "has none of the controllers cpu, memory, pids"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 0, own)
			c.prepare(f)
			before := f.list()
			if _, err := openTree(c.setting, f.system); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if after := f.list(); !slices.Equal(before, after) {
				t.Errorf("there is %v, and there was %v", after, before)
			}
		})
	}
}

func (f *fake) list() (paths []string) {
	f.t.Helper()
	if err := filepath.WalkDir(f.root, func(path string, _ os.DirEntry, err error) error {
		text, _ := os.ReadFile(path) // a folder has none
		paths = append(paths, path+": "+string(text))
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
	return paths
}

// TestDaemonIsBelowWhatWasDelegated: systemd has put the process into the cgroup "daemon" already,
// or an earlier process of this node has.
func TestDaemonIsBelowWhatWasDelegated(t *testing.T) {
	f := newFake(t, 0, "/unit/daemon")
	f.cgroup("/unit", "memory pids")
	f.delegated[filepath.Join(f.root, "/unit")] = true
	tree, err := openTree("", f.system)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.read("/unit/cgroup.subtree_control"); got != "+memory+pids" || !slices.Equal(tree.Lacks(), []string{"cpu"}) {
		t.Errorf("the controllers handed down are %q, without %v", got, tree.Lacks())
	}
}

// TestDescendantsMoveToo: what this process has started moves with it.
func TestDescendantsMoveToo(t *testing.T) {
	f := newFake(t, 0, "/unit")
	f.delegated[filepath.Join(f.root, "/unit")] = true
	f.process(101, 100)
	f.process(102, 101)
	f.cgroup("/unit", "cpu memory pids", 100, 101, 102)
	if _, err := openTree("", f.system); err != nil {
		t.Fatal(err)
	}
	if got := f.read("/unit/daemon/cgroup.procs"); got != "100101102" {
		t.Errorf("the processes %q moved", got)
	}
}
