package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bed is the hosts of a run, on a bridge in its own namespace, so that nothing of the
// machine's own network changes. Its names begin with a prefix of this process.
type bed struct {
	prefix string
	folder string // of everything: keys, inventories, the hosts' folders
	delay  time.Duration
	hosts  map[string]*host
}

// host is one namespace.
type host struct {
	name, address, netns, folder string
	sshd                         *exec.Cmd
}

// operator is the namespace in which the commands run.
const operator = "operator"

// missing returns what this machine lacks for a bed, "" for nothing.
func missing(playbook string) string {
	if os.Getuid() != 0 {
		return "it needs root, to make network namespaces"
	}
	for program, of := range map[string]string{"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "ssh": "openssh-client", "ssh-keygen": "openssh-client", playbook: "ansible-core", "/usr/sbin/sshd": "openssh-server"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Sprintf("%s is missing (Debian: apt-get install %s)", program, of)
		}
	}
	try := exec.Command("unshare", "--net", "--mount", "--uts", "sh", "-c", "ip link set lo up && mount -t tmpfs none /mnt")
	if out, err := try.CombinedOutput(); err != nil {
		return fmt.Sprintf("namespaces cannot be made here: %v: %s", err, bytes.TrimSpace(out))
	}
	return ""
}

// run runs a command and returns what it printed.
func run(ctx context.Context, name string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()+out.String()))
	}
	return out.String(), nil
}

// all runs commands, each a line of words, until one fails.
func all(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if _, err := run(ctx, words[0], words[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// newBed makes the bridge, the operator's namespace and the keys.
func newBed(ctx context.Context, folder string, delay time.Duration) (*bed, error) {
	b := &bed{prefix: fmt.Sprintf("pt%d", os.Getpid()), folder: folder, delay: delay, hosts: map[string]*host{}}
	bridge := b.netns("switch")
	err := all(ctx, "ip netns add "+bridge, "ip -n "+bridge+" link add br0 type bridge", "ip -n "+bridge+" link set br0 up")
	if err != nil {
		return b, err
	}
	for _, key := range []string{"host_key", "user_key"} {
		if _, err := run(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(folder, key)); err != nil {
			return b, err
		}
	}
	return b, b.connect(ctx, operator, "10.77.255.1")
}

func (b *bed) netns(name string) string { return b.prefix + "-" + name }

// connect makes a namespace with an address on the bridge.
func (b *bed) connect(ctx context.Context, name, address string) error {
	n := b.netns(name)
	port := "p" + strings.ReplaceAll(address, ".", "")[4:] // at most 15 letters
	commands := []string{
		"ip netns add " + n,
		fmt.Sprintf("ip -n %s link add eth0 type veth peer name %s netns %s", n, port, b.netns("switch")),
		fmt.Sprintf("ip -n %s link set %s master br0 up", b.netns("switch"), port),
		fmt.Sprintf("ip -n %s addr add %s/16 dev eth0", n, address),
		"ip -n " + n + " link set lo up", "ip -n " + n + " link set eth0 up",
	}
	if err := all(ctx, commands...); err != nil || b.delay == 0 || name == operator {
		return err
	}
	if err := all(ctx, fmt.Sprintf("tc -n %s qdisc add dev eth0 root netem delay %dus", n, b.delay.Microseconds())); err != nil {
		fmt.Fprintln(os.Stdout, "LEFT OUT: delays on the network:", err) // a kernel without netem
		b.delay = 0
	}
	return nil
}

// person submits jobs: a user of every host.
const person = "alice"

// setUp is what a host's first process does: folders of the host's own over those of the machine,
// its name, and then sshd.
const setUp = `set -e
for d in etc var opt; do
	mkdir -p $BED/$d/upper $BED/$d/work
	mount -t overlay overlay -o lowerdir=/$d,upperdir=$BED/$d/upper,workdir=$BED/$d/work /$d
done
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/sshd
hostname $NAME
echo $NAME >/etc/hostname
echo "$ADDRESS $NAME" >>/etc/hosts
echo "$PERSON:x:4242:4242::/tmp:/bin/sh" >>/etc/passwd
echo "$PERSON:x:4242:" >>/etc/group
exec /usr/sbin/sshd -D -e -f $BED/sshd_config`

// add makes a host and starts its sshd.
func (b *bed) add(ctx context.Context, name, address string) error {
	h := &host{name: name, address: address, netns: b.netns(name), folder: filepath.Join(b.folder, "hosts", name)}
	b.hosts[name] = h
	if err := b.connect(ctx, name, address); err != nil {
		return err
	}
	if err := os.MkdirAll(h.folder, 0o755); err != nil { //nolint:gosec // sshd refuses folders that others cannot pass
		return err
	}
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nMaxStartups 100\nUseDNS no\nSubsystem sftp internal-sftp\n",
		address, filepath.Join(b.folder, "host_key"), filepath.Join(b.folder, "user_key.pub"))
	if err := os.WriteFile(filepath.Join(h.folder, "sshd_config"), []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(h.folder, "sshd.log"))
	if err != nil {
		return err
	}
	h.sshd = exec.Command("nsenter", "--net=/run/netns/"+h.netns, "unshare", "--mount", "--uts", "--propagation", "private", "sh", "-c", setUp)
	h.sshd.Env = append(os.Environ(), "BED="+h.folder, "NAME="+name, "ADDRESS="+address, "PERSON="+person)
	h.sshd.Stdout, h.sshd.Stderr = log, log
	h.sshd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = h.sshd.Start()
	return errors.Join(err, log.Close())
}

// awaitSSH waits until all hosts answer.
func (b *bed) awaitSSH(ctx context.Context) error {
	for _, h := range b.hosts {
		for tries := 0; ; tries++ {
			_, err := b.operate(ctx, "ssh", "-F", b.sshConfig(), h.address, "true")
			if err == nil {
				break
			}
			if tries == 100 || ctx.Err() != nil {
				log, _ := os.ReadFile(filepath.Join(h.folder, "sshd.log"))
				return fmt.Errorf("the sshd of host %s does not answer: %w; it says: %s", h.name, err, log)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// sshConfig returns the file that ssh reads.
func (b *bed) sshConfig() string { return filepath.Join(b.folder, "ssh_config") }

// writeKeys writes the settings of ssh, with the hosts' key for all their addresses.
func (b *bed) writeKeys() error {
	key, err := os.ReadFile(filepath.Join(b.folder, "host_key.pub"))
	if err != nil {
		return err
	}
	config := fmt.Sprintf("Host *\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n",
		filepath.Join(b.folder, "user_key"), filepath.Join(b.folder, "known_hosts"))
	return errors.Join(
		os.WriteFile(b.sshConfig(), []byte(config), 0o600),
		os.WriteFile(filepath.Join(b.folder, "known_hosts"), append([]byte("10.77.* "), key...), 0o600),
	)
}

// operate runs a command in the network of the operator.
func (b *bed) operate(ctx context.Context, command string, args ...string) (string, error) {
	words := b.line(command, args...)
	return run(ctx, words[0], words[1:]...)
}

// line returns the words that run a command in the network of the operator.
func (b *bed) line(command string, args ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + b.netns(operator), command}, args...)
}

// processes returns the numbers of the processes in the network of a host.
func (b *bed) processes(ctx context.Context, name string) []string {
	out, err := run(ctx, "ip", "netns", "pids", b.netns(name))
	if err != nil {
		return nil // it is gone
	}
	return strings.Fields(out)
}

// kill ends a host at once, as a loss of power does.
func (b *bed) kill(ctx context.Context, name string) {
	for range 20 { // one that is starting may start another meanwhile
		left := b.processes(ctx, name)
		if len(left) == 0 {
			break
		}
		_, _ = run(ctx, "kill", append([]string{"-KILL"}, left...)...) // some have ended
		time.Sleep(50 * time.Millisecond)
	}
	if h := b.hosts[name]; h != nil && h.sshd != nil && h.sshd.Process != nil {
		_ = h.sshd.Wait() // it was killed
	}
	_, _ = run(ctx, "ip", "netns", "del", b.netns(name))
	delete(b.hosts, name)
}

// close ends all hosts and removes everything.
func (b *bed) close() error {
	ctx := context.Background()
	for name := range b.hosts {
		b.kill(ctx, name)
	}
	for _, name := range []string{operator, "switch"} {
		b.kill(ctx, name)
	}
	return os.RemoveAll(b.folder)
}
