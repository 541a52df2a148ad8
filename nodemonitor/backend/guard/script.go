package guard

import (
	"errors"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// writeScript makes the file of the process's script.
func (s *Spec) writeScript() *Fault {
	if s.Script == nil {
		return nil
	}
	err := s.makeOwn(s.Script.Folder)
	if err == nil {
		err = s.writeFile(filepath.Join(s.Script.Folder, s.Script.Name), s.Script.Text)
	}
	if err != nil {
		return FaultOf("the file of its script could not be written", err)
	}
	return nil
}

// writeFile writes a file that only the process's user may read, change and run. A process that is forked meanwhile
// has it open for a moment, and the kernel runs no file that a process has open for writing: birth.isBusy.
func (s *Spec) writeFile(path string, text []byte) error {
	f, err := files.CreateRegular(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o700)
	}
	if u := s.As; u != nil && err == nil {
		err = f.Chown(int(u.UID), int(u.GID))
	}
	return errors.Join(err, f.Close())
}
