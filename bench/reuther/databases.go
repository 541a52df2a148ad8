package reuther

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/text"
)

// redis starts a Redis that listens on its own socket and writes nothing to the disk.
func redis(ctx context.Context, p *place) (string, Description, error) {
	if err := installed("Redis", "redis-server", "redis-server"); err != nil {
		return "", Description{}, err
	}
	version, err := p.command(ctx, "redis-server", "--version")
	if err != nil {
		return "", Description{}, err
	}
	socket := p.path("redis.socket")
	settings := []string{"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", p.dir}
	if err := p.daemonThatSays(ctx, regexp.MustCompile("eady to accept connections"), "redis-server", append([]string{"redis-server"}, settings...)...); err != nil {
		return "", Description{}, err
	}
	version, _, _ = strings.Cut(version, " sha=")
	return socket, Description{About: version, Configuration: strings.ReplaceAll("redis-server "+text.JoinWords(settings)+"\n", p.dir, "DIR")}, nil
}

// postgres starts a PostgreSQL that listens on its own socket, with its defaults, which sync
// every commit to the disk. It refuses to run as root; then it runs as the user postgres of
// Debian's package.
func postgres(ctx context.Context, p *place) (string, Description, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return "", Description{}, err
	}
	data, folder := p.path("data"), p.path("socket")
	as, owner := []string{}, os.Getuid()
	if owner == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			return "", Description{}, fmt.Errorf("PostgreSQL %w for root: %w", ErrAbsent, err)
		}
		if owner, err = strconv.Atoi(who.Uid); err != nil {
			return "", Description{}, err
		}
		as = []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"}
	}
	for _, dir := range []string{data, folder} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", Description{}, err
		}
		if err := os.Chown(dir, owner, -1); err != nil {
			return "", Description{}, err
		}
	}
	run := func(program string, arguments ...string) []string {
		return append(append(slices.Clone(as), filepath.Join(programs, program)), arguments...)
	}
	version, err := p.command(ctx, run("postgres", "--version")...)
	if err != nil {
		return "", Description{}, err
	}
	if _, err := p.command(ctx, run("initdb", "--pgdata="+data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")...); err != nil {
		return "", Description{}, err
	}
	settings := []string{"-c", "listen_addresses=", "-c", "unix_socket_directories=" + folder}
	if err := p.daemonThatSays(ctx, regexp.MustCompile("database system is ready to accept connections"), "postgres", run("postgres", append([]string{"-D", data}, settings...)...)...); err != nil {
		return "", Description{}, err
	}
	return folder, Description{About: version, Configuration: strings.ReplaceAll("postgres "+text.JoinWords(settings)+" (else its defaults; fsync is on)\n", p.dir, "DIR")}, nil
}

// postgresPrograms returns the folder of PostgreSQL's programs: that of the path, else the
// newest of Debian's.
func postgresPrograms() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is well formed
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL %w: apt-get install postgresql, or make peers", ErrAbsent)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // Debian's are numbers
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}
