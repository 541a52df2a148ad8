package doctor

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/spf13/cobra"
)

// Command is the verb doctor.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: cli.GroupSelf,
		Short:   "Try what a cluster on this machine will need",
		Long: `Tries what a cluster on this machine will need and prints how to repair what does
not work. Where daemons are installed (/etc/pigeon) it checks their settings, whether the
daemons' users can read the files that the settings name (only root can try that), and when
certificates end. Where --frontend or the settings of the commands name a cluster, or a pigeon
dev runs, it asks whether that cluster's frontends answer, its masters and nodes are up and none
was refused, whether each NATS server keeps the leaderships of masters with standbys, and whether
all are of one version. It changes nothing. Exit status 1 when something is bad.`,
		Example: `  pigeon doctor
  pigeon doctor --frontend 127.0.0.1:20503
  pigeon doctor -o json | grep -v '"status":"good"'`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		cluster, err := clusterChecks(cmd)
		if err != nil {
			return connect.UnlessInterrupted(cmd, "interrupted", err)
		}
		checks := append(Checks(defaultNeeds()), cluster...)
		worst, err := Run(cmd.Context(), checks, func(f Finding) error {
			if *output == cli.OutputJSON {
				return cli.WriteJSON(out, f)
			}
			_, err := fmt.Fprintf(out, "%-4s  %s: %s\n", f.Status, f.Check, f.Found)
			if f.Advice != "" && err == nil {
				_, err = fmt.Fprintf(out, "      -> %s\n", f.Advice)
			}
			return err
		})
		if cmd.Context().Err() != nil {
			return connect.UnlessInterrupted(cmd, "interrupted; not all checks were made", errors.Join(cmd.Context().Err(), err))
		}
		if err != nil {
			return err
		}
		if worst == Bad {
			return cli.SilentError{Code: cli.ExitFailed}
		}
		return nil
	}
	return cmd
}

// defaultNeeds returns what the default settings need: the published ports and the folders.
func defaultNeeds() Options {
	return Options{
		Ports: []Port{
			{Address: "127.0.0.1:20503", Use: "frontend, for applications"},
			{Address: "127.0.0.1:20501", Use: "node monitor, for backends"},
		},
		Folders: append(installedFolders(), Folder{Path: os.TempDir(), Use: "pigeon dev", Check: CheckDevFolder}),
		Host:    thisHost(),
	}
}

// CheckDevFolder returns why a frontend or a node with its folder there would take nothing.
func CheckDevFolder(path string) error {
	return errors.Join(logs.Check(path, 0), journal.CheckRoom(path))
}

// installedFolders returns the folders of the frontends and nodes whose settings are installed.
func installedFolders() (list []Folder) {
	for _, r := range connect.Roles() {
		paths, _ := filepath.Glob("/etc/pigeon/" + r.Name + "*.yaml") // the pattern is right
		for _, path := range paths {
			origins, _ := r.Load(config.Source{File: path}) // another check says what is wrong with it
			value := map[string]any{}
			for _, o := range origins {
				value[o.Key] = o.Value
			}
			if dir, _ := value["data"].(string); r.Name == "frontend" && dir != "" {
				list = append(list, Folder{Path: dir, Use: "frontend of " + path, Check: journal.CheckRoom})
			}
			if dir, _ := value["work_dir"].(string); r.Name == "nodemonitor" && dir != "" {
				least, _ := value["min_free_disk"].(int64)
				list = append(list, Folder{Path: dir, Use: "node monitor of " + path, Check: func(dir string) error { return logs.Check(dir, least) }})
			}
		}
	}
	return list
}

// thisHost returns this machine as one on which daemons may be installed.
func thisHost() *Host {
	h := &Host{Root: "/", Now: time.Now(), Load: loadInstalled}
	if os.Geteuid() == 0 {
		h.Readable = readableFor
	}
	return h
}

// loadInstalled reads a file of settings as the daemon of a role does, without flags and environment.
func loadInstalled(name, path string) (loaded Settings, err error) {
	for _, r := range connect.Roles() {
		if r.Name != name {
			continue
		}
		origins, err := r.Load(config.Source{File: path})
		for _, o := range origins {
			loaded.Insecure = loaded.Insecure || o.Key == "insecure" && o.Value == true
			file, is := o.Value.(string)
			switch {
			case is && filepath.IsAbs(file) && o.Key == "tls":
				loaded.Files = append(loaded.Files, filepath.Join(file, authority.TrustFile), filepath.Join(file, authority.CertFile), filepath.Join(file, authority.KeyFile))
			case is && filepath.IsAbs(file):
				loaded.Files = append(loaded.Files, file)
			}
		}
		return loaded, err
	}
	return loaded, fmt.Errorf("%s has no settings", name)
}

// readableFor reports whether a user can read a file, by trying it as that user: modes alone do not
// tell, where a folder is closed or a list of access control opens the file.
func readableFor(name, path string) bool {
	u, err := user.Lookup(name)
	if err != nil {
		return false
	}
	groups, _ := u.GroupIds() // the first group is that of the user
	id := func(text string) uint32 {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return math.MaxUint32 // nobody: the kernel refuses it
		}
		return uint32(n)
	}
	as := &syscall.Credential{Uid: id(u.Uid), Gid: id(u.Gid)}
	for _, g := range groups {
		as.Groups = append(as.Groups, id(g))
	}
	try := exec.Command("/bin/sh", "-c", `[ -r "$1" ]`, "sh", path)
	try.Dir, try.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
	return try.Run() == nil
}
