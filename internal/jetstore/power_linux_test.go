package jetstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// disk is a separate file system in a file, with which a loss of power can be simulated:
// the file has what the disk would have, and not what is only in the memory of the
// machine.
type disk struct {
	t           *testing.T
	image, root string
}

func newDisk(t *testing.T, name string) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), name), root: filepath.Join(t.TempDir(), name)}
	if err := os.Mkdir(d.root, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "truncate", "--size=96M", d.image)
	command(t, "mkfs.ext4", "-q", "-F", d.image)
	d.mount()
	t.Cleanup(func() { _ = exec.Command("umount", d.root).Run() }) // it is not mounted after a failure
	return d
}

func command(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of this file
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
}

func (d *disk) mount() { d.t.Helper(); command(d.t, "mount", "-o", "loop", d.image, d.root) }

// sync writes everything to the disk.
func (d *disk) sync() {
	d.t.Helper()
	f, err := os.Open(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()                 // nothing was written
	if err := unix.Syncfs(int(f.Fd())); err != nil { //nolint:gosec // a file descriptor
		d.t.Fatal(err)
	}
}

// keep copies what the disk has.
func (d *disk) keep() { d.t.Helper(); command(d.t, "cp", "--sparse=always", d.image, d.image+".kept") }

// lose restores the disk to its state when keep was called.
func (d *disk) lose() {
	d.t.Helper()
	command(d.t, "umount", d.root)
	if err := os.Rename(d.image+".kept", d.image); err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// TestLossOfPower takes the power from three servers at once while they acknowledge writes.
// With sync_interval: always nothing is lost that was acknowledged; with the server's own
// 2 minutes, which Open refuses, it is, and this test sees it.
func TestLossOfPower(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount file systems")
	}
	if testing.Short() {
		t.Skip("it starts two clusters on file systems of their own")
	}
	if exec.Command("losetup", "--find").Run() != nil {
		t.Skip("this machine has no loop devices")
	}
	for _, interval := range []string{natsserver.Always, "2m"} {
		t.Run(interval, func(t *testing.T) {
			acknowledged, lost := losePower(t, interval)
			t.Logf("sync_interval %s: %d writes were acknowledged, %d of them are lost", interval, acknowledged, lost)
			if (lost > 0) != (interval != natsserver.Always) {
				t.Errorf("sync_interval %s: %d of %d acknowledged writes are lost", interval, lost, acknowledged)
			}
		})
	}
}

func losePower(t *testing.T, interval string) (acknowledged, lost int) {
	t.Helper()
	var disks []*disk
	servers := natsservertest.StartProcesses(t, 3, func(o *natsserver.Options) {
		d := newDisk(t, o.Name)
		disks = append(disks, d)
		o.StoreDir, o.SyncInterval = filepath.Join(d.root, "js"), interval
	})
	o := options(t, servers.URL())
	o.Replicas = 3
	if interval != natsserver.Always {
		refused(t, openFails(t, o), "sync_interval")
	}
	js := connect(t, servers)
	config := jetstream.StreamConfig{Name: "journal", Subjects: []string{"journal"}, Replicas: 3}
	daemontest.Await(t, "the stream", func() bool { _, err := js.CreateStream(t.Context(), config); return err == nil })
	servers.Leader("journal")
	for _, d := range disks {
		d.sync()
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for ; ctx.Err() == nil; acknowledged++ {
		if _, err := js.Publish(ctx, "journal", []byte(strconv.Itoa(acknowledged))); err != nil {
			break
		}
	}
	for i := range disks {
		servers.Signal(i, syscall.SIGSTOP)
	}
	for _, d := range disks {
		d.keep()
	}
	for i := range disks {
		servers.Kill(i)
	}
	for _, d := range disks {
		d.lose()
	}
	for i := range disks {
		servers.Start(i)
	}
	if acknowledged == 0 {
		t.Fatal("nothing was acknowledged")
	}
	return acknowledged, acknowledged - present(t, js, acknowledged)
}

func connect(t *testing.T, servers *natsservertest.Processes) jetstream.JetStream {
	t.Helper()
	nc, err := servers.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// present returns how many of the first writes the stream has after its servers were started
// again.
func present(t *testing.T, js jetstream.JetStream, writes int) (n int) {
	t.Helper()
	var last uint64
	daemontest.Await(t, "the stream has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "journal")
		if err != nil || s.CachedInfo().Cluster == nil || s.CachedInfo().Cluster.Leader == "" {
			return false
		}
		last = s.CachedInfo().State.LastSeq
		return true
	})
	s, err := js.Stream(t.Context(), "journal")
	if err != nil {
		t.Fatal(err)
	}
	for i := range writes {
		if uint64(i) >= last { //nolint:gosec // a count
			break
		}
		m, err := s.GetMsg(t.Context(), uint64(i)+1) //nolint:gosec // a count
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil || string(m.Data) != strconv.Itoa(i) {
			t.Fatal(fmt.Errorf("write %d: %w", i, err))
		}
		n++
	}
	return n
}
