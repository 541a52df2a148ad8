package clusters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// temporaryFolder is where a host has everything of a temporary cluster, below its prefix. Its path
// is the same for every run, so that one finds what another one has left.
const temporaryFolder = "/var/lib/pigeon-replay"

// claims is the file there that names the run.
const claims = "/run-of"

// claim takes the folder on a host for this run, and refuses a host on which it is another run's, or
// on which a process listens on a port that the run needs.
func (t *Temporary) claim(ctx context.Context, p *HostPlan) error {
	folder := p.Host.Prefix
	script := fmt.Sprintf(`set -e; umask 022; mkdir -p "$(dirname %[1]s)"
if ! mkdir %[1]s 2>/dev/null; then
[ -d %[1]s ] || mkdir %[1]s
echo taken; cat %[1]s%[2]s 2>/dev/null || :; exit 0; fi
cat >%[1]s%[2]s; echo free; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || :`, folder, claims)
	out, err := t.remote.Run(ctx, p.Host, "making the folder of the run", script, strings.NewReader(t.run+"\n"))
	if err != nil {
		return err
	}
	state, rest, _ := strings.Cut(out, "\n")
	if state != "free" {
		return &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("it has the folder %s of another run (%s)", folder, cmp.Or(strings.TrimSpace(rest), "it does not say which")), Subject: fmt.Sprintf("host %q", p.Host.Name), Tried: "preparing it",
			Next: "wait for that run; if it has ended without cleaning up, 'pigeon replay --clear-hosts' with this inventory removes what it left",
		}
	}
	t.mu.Lock()
	t.claimed = append(t.claimed, p.Host)
	t.mu.Unlock()
	for _, port := range Ports() {
		if p.Host.Has(port.Role) && listening(rest, p.Host.Address, port.Number) {
			return &api.Error{
				Problem: api.Invalid, What: fmt.Sprintf("port %d is in use, which its %s needs", port.Number, port.Role.Verb()), Subject: fmt.Sprintf("host %q", p.Host.Name), Tried: "preparing it",
				Next: "stop what listens there; where that is an installed cluster, leave the host out or replay to its frontends with --frontend",
			}
		}
	}
	return nil
}

// listening reports whether a socket of a table of the kernel (/proc/net/tcp) listens on a port of an
// address of the host, of loopback or of all.
func listening(table, address string, port int) bool {
	const listens = "0A"
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != listens {
			continue
		}
		ip, number, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(number, 16, 16); err != nil || int(n) != port {
			continue
		}
		if at := kernelIP(ip); at == nil || at.IsUnspecified() || at.Equal(net.ParseIP(address)) || net.ParseIP(address) == nil || at.IsLoopback() && !net.ParseIP(address).IsLoopback() {
			return true
		}
	}
	return false
}

// kernelIP returns an address as the kernel writes it: words of four bytes, the lowest first.
func kernelIP(text string) net.IP {
	ip, err := hex.DecodeString(text)
	if err != nil || len(ip)%4 != 0 {
		return nil
	}
	for i := 0; i < len(ip); i += 4 {
		ip[i], ip[i+1], ip[i+2], ip[i+3] = ip[i+3], ip[i+2], ip[i+1], ip[i]
	}
	return ip
}

// clearHost ends the processes of a temporary cluster on a host and removes its folder. Nothing of
// value is lost by killing: the measurements were fetched before. A process that an interrupted command
// has just started is found by its program, which others on this machine may run from their own
// folders. The number in a file may be another process's by now: a daemon runs a program of the
// folder, its loop the script.
func clearHost(ctx context.Context, r *hosts.Remote, h *hosts.Host) error {
	at := pathsOf(h)
	script := fmt.Sprintf(`rm -f %[2]s
all= bin=$(readlink -f %[5]s) || bin=%[5]s
own() { case $1 in
*.loop) tr '\0' '\n' 2>/dev/null <"/proc/$2/cmdline" | grep -qxF -e %[2]s ;;
*) case $(readlink "/proc/$2/exe" 2>/dev/null) in "$bin"/*) ;; *) false ;; esac ;;
esac; }
for f in %[3]s/*.loop %[3]s/*.pid; do
n=$(cat "$f" 2>/dev/null) && [ -n "$n" ] && [ -r "/proc/$n/cmdline" ] && own "$f" "$n" && kill -KILL "$n" 2>/dev/null && all="$all $n"
done
for p in /proc/[0-9]*; do
if [ "$p/exe" -ef %[4]s ]; then kill -KILL "${p#/proc/}" 2>/dev/null && all="$all ${p#/proc/}"; fi
done
i=0
for n in $all; do
while [ -e "/proc/$n" ] && ! grep -q '^State:.Z' "/proc/$n/status" 2>/dev/null; do
i=$((i+1)); [ $i -lt 100 ] || { echo "its process $n does not end" >&2; exit 1; }; sleep 0.1; done
done
rm -rf %[1]s`, h.Prefix, at.service(), at.run(), at.program(), at.bin())
	_, err := r.Run(ctx, h, "removing what the run left", script, nil)
	return err
}

// fetch copies a file of a host.
func (t *Temporary) fetch(ctx context.Context, h *hosts.Host, path string, into io.Writer) error {
	out, err := t.remote.Run(ctx, h, "fetching "+path, "cat "+path, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(into, bytes.NewBufferString(out))
	return err
}
