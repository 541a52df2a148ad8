package guard

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownerUmask makes the files of a process accessible to its user only.
const ownerUmask = 0o077

// credential returns what fork sets, nil for the guard's own user.
func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}

// look calls do on a thread that sees the file system as the user does, so that root finds
// nothing that the user would not find. The thread ends afterwards.
func (u *User) look(do func()) error {
	if u == nil || u.UID == 0 {
		do()
		return nil
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := u.enter()
		if err == nil {
			do()
		}
		failed <- err
	}()
	return <-failed
}

// enter gives the calling thread, and no other one, the user's rights on files. The kernel takes
// root's rights on files from it with that.
func (u *User) enter() error {
	groups := u.Groups
	if len(groups) == 0 {
		groups = []uint32{u.GID}
	}
	// The functions of package syscall change all threads of the process.
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
		return e
	}
	for _, set := range []func() (int, error){
		func() (int, error) { return unix.SetfsgidRetGid(int(u.GID)) },
		func() (int, error) { return unix.SetfsuidRetUid(int(u.UID)) },
	} {
		if _, err := set(); err != nil {
			return err
		}
	}
	// Neither call reports whether it worked; a second call returns what is set.
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != int(u.UID) {
		return unix.EPERM
	}
	return nil
}

// fork starts the program. Files of a process with a user of its own are accessible to that user
// only, unless the process sets other modes. The umask is the guard's own meanwhile: everything
// else that it makes has a mode that no umask changes.
func (u *User) fork(p plan, attributes *syscall.ProcAttr) (pid int, err error) {
	if u != nil {
		before := unix.Umask(ownerUmask)
		defer unix.Umask(before)
	}
	return syscall.ForkExec(p.path, p.argv, attributes)
}
