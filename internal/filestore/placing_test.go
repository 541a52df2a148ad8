package filestore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pigeon-sched/pigeon/internal/filestore"
)

// soon fails the test when something waits that must not.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits for the disk that works for another file", what)
	}
}

// slowDisk returns a disk on which the first sync of a part named so waits for release, and tells
// when it does.
func slowDisk(sha string) (disk vfs.FS, syncs chan struct{}, release chan struct{}) {
	syncs, release = make(chan struct{}, 10), make(chan struct{})
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, sha) {
			syncs <- struct{}{}
			<-release
		}
		return nil
	})), syncs, release
}

// answer is what a Put returned.
type answer struct {
	have int64
	err  error
}

// While a file is being put into its place, whoever needs others goes on, it is not here yet, and no
// piece of it, no announcement and no removal disturbs it.
func TestOthersDoNotWaitForAFile(t *testing.T) {
	f := file("slow")
	for name, send := range map[string]func(*filestore.Store) (int64, error){
		"announced": func(s *filestore.Store) (int64, error) { return s.Put(f.SHA256, 0, []byte("slow")) },
		"of a sender": func(s *filestore.Store) (int64, error) {
			in, err := s.Receive(f)
			if err != nil {
				return 0, err
			}
			return in.Put(0, []byte("slow"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk, syncs, release := slowDisk(f.SHA256)
			s := openOn(t, disk)
			if name == "announced" {
				if err := s.Expect(f); err != nil {
					t.Fatal(err)
				}
			}
			first, second, announced := make(chan answer, 1), make(chan answer, 1), make(chan error, 1)
			go func() { n, err := send(s); first <- answer{n, err} }()
			<-syncs
			soon(t, "another file", func() {
				put(t, s, "other")
				if read(t, s, file("other").SHA256) != "other" || s.Has(f.SHA256) {
					t.Error("the other is not here, or the slow one is")
				}
			})
			soon(t, "removing", func() {
				if err := s.Retain(func(string) bool { return false }); err != nil || s.Has(file("other").SHA256) {
					t.Error("the other is still here", err)
				}
			})
			go func() { n, err := s.Put(f.SHA256, 0, []byte("SLOW")); second <- answer{n, err} }()
			go func() { announced <- s.Expect(sized("slow", 4)) }()
			close(release)
			for range 2 {
				select {
				case a := <-first:
					if a != (answer{4, nil}) || !s.Has(f.SHA256) {
						t.Errorf("its sender was told %+v, and it is here: %v", a, s.Has(f.SHA256))
					}
				case a := <-second:
					if a != (answer{4, nil}) {
						t.Errorf("another piece was told %+v", a)
					}
				}
			}
			if err := <-announced; err != nil || read(t, s, f.SHA256) != "slow" || s.Recount(nil) != nil {
				t.Error(err, s.Recount(nil))
			}
		})
	}
}

// A file that is here is read while another sender's copy of it is put over it.
func TestFileIsReadWhileItIsReplaced(t *testing.T) {
	f := file("slow")
	disk, syncs, release := slowDisk(f.SHA256)
	s := openOn(t, disk)
	put2 := func(done chan answer) {
		in, err := s.Receive(f)
		if err == nil {
			var n int64
			n, err = in.Put(0, []byte("slow"))
			done <- answer{n, err}
			return
		}
		done <- answer{0, err}
	}
	one, two := make(chan answer, 1), make(chan answer, 1)
	go put2(one)
	<-syncs
	release <- struct{}{}
	if a := <-one; a != (answer{4, nil}) {
		t.Fatal(a)
	}
	go put2(two)
	<-syncs
	soon(t, "reading it", func() {
		if !s.Has(f.SHA256) || read(t, s, f.SHA256) != "slow" {
			t.Error("it is not here")
		}
	})
	close(release)
	if a := <-two; a != (answer{4, nil}) || read(t, s, f.SHA256) != "slow" || s.Recount(nil) != nil {
		t.Error(a, s.Recount(nil))
	}
}
