package clusters

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// Program is the program that hosts should have.
type Program struct {
	Path     string
	SHA256   string
	Size     int64
	Version  string // as 'pigeon version' prints it
	Platform string // of it, as GOOS/GOARCH; "" is unknown
}

// versionLine is what 'pigeon version -o json' prints, as far as it is of use here.
type versionLine struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
}

// OpenProgram reads a program, and asks it for its version.
func OpenProgram(ctx context.Context, path string) (p Program, err error) {
	refused := func(err error) (Program, error) {
		return Program{}, &api.Error{Problem: api.Invalid, What: err.Error(), Subject: path, Tried: "reading the program for the hosts", Next: "name a pigeon for the hosts' system with --program"}
	}
	// A name without a slash would be read here and started from PATH.
	path, err = filepath.Abs(path)
	if err != nil {
		return refused(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return refused(err)
	}
	sum := sha256.New()
	p.Path = path
	p.Size, err = io.Copy(sum, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return refused(err)
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	out, err := exec.CommandContext(ctx, path, "version", "-o", "json").Output()
	if err != nil {
		return refused(fmt.Errorf("it does not say its version: %w", err))
	}
	versions, err := versionsIn(out)
	if err == nil && len(versions) != 1 {
		err = errNoVersion
	}
	if err != nil {
		return refused(err)
	}
	p.Version, p.Platform = versions[0].Version, versions[0].Platform
	return p, nil
}

var errNoVersion = errors.New("it does not say its version as a pigeon does")

// versionsIn reads what programs have printed of their versions, one after another.
func versionsIn(out []byte) (list []versionLine, err error) {
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var v versionLine
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil || v.Version == "":
			return nil, errNoVersion
		}
		list = append(list, v)
	}
}

// name returns the name of the file that a host has of the program.
func (p Program) name() string { return "pigeon-" + p.SHA256[:16] }

// machines are the words of 'uname -m' for the architectures of releases.
func machines() map[string]string { return map[string]string{"amd64": "x86_64", "arm64": "aarch64"} }

// runsOn returns why a host cannot run the program, nil when it can, and when that is unknown. system
// is what 'uname -s -m' prints there.
func (p Program) runsOn(host, system string) error {
	goos, goarch, _ := strings.Cut(p.Platform, "/")
	name, machine, _ := strings.Cut(system, " ")
	want := machines()[goarch]
	if p.Platform == "" || system == "" || strings.EqualFold(name, goos) && (want == "" || machine == want) {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("its system is %s, and the program %s is for %s", system, p.Path, p.Platform), Subject: fmt.Sprintf("host %q", host), Tried: "comparing it with its plan",
		Next: "run this command on a machine of that system, with the pigeon for it; all hosts of an inventory run one program",
	}
}

// follows returns why a host that runs a version cannot be upgraded to the program, nil when it
// can.
func (p Program) follows(host, running string) error {
	if why := daemon.Incompatible(running, p.Version); why != "" {
		return &api.Error{
			Problem: api.Invalid, What: why, Subject: fmt.Sprintf("host %q", host), Tried: "upgrading it to " + p.Path,
			Next: "upgrade to each minor version between them in turn",
		}
	}
	return nil
}
