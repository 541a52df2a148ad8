package request

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/pflag"
)

// stageFlag is --stage of submit and run.
const stageFlag = "stage"

// addStage adds the flag.
func addStage(flags *pflag.FlagSet, list *[]string) {
	flags.StringArrayVar(list, stageFlag, nil, "FILE[=NAME] or FOLDER[=NAME] for working folders; repeatable")
}

// Staged is the files that are sent with a job.
type Staged struct {
	list  []api.StagedFile
	Paths map[string]string // of the contents on this machine, by SHA-256
	from  []string          // the paths of the list
	bytes int64             // of the contents
}

// stage reads what --stage names, unless its sizes show that it is more than the limit: below 0 for
// no file, 0 where it is not known. What is left out of folders, because it is no regular file, is said on
// errs.
func stage(arguments []string, limit func() int64, errs io.Writer) (s Staged, err error) {
	s.Paths = map[string]string{}
	for _, argument := range arguments {
		if err := s.add(argument, errs); err != nil {
			return Staged{}, unstaged(argument, err)
		}
	}
	if len(s.list) == 0 {
		return s, nil
	}
	most := limit()
	if err := s.fits(most); err != nil {
		return Staged{}, err
	}
	for i := range s.list {
		if err := s.read(i); err != nil {
			return Staged{}, unstaged(s.from[i], err)
		}
		if most > 0 && s.bytes > most {
			return Staged{}, tooMuch(s.bytes, most)
		}
	}
	return s, nil
}

// unstaged is the error of an argument, or of a file.
func unstaged(of string, err error) error {
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		err = fmt.Errorf("%w; name a file or a folder of this machine that you may read", err)
	}
	return fmt.Errorf("--%s %s: %w", stageFlag, of, err)
}

// fits returns an error when the sizes alone show that the files are too much. Equal contents count
// once, and only files of one size can be equal.
func (s *Staged) fits(most int64) error {
	sizes, n := map[int64]bool{}, int64(0)
	for i := range s.list {
		if size := s.list[i].Size; !sizes[size] {
			sizes[size] = true
			n = min(n, math.MaxInt64-size) + size
		}
	}
	if most < 0 || most > 0 && n > most {
		return tooMuch(n, most)
	}
	return nil
}

// tooMuch is the error of files that no frontend takes.
func tooMuch(n, most int64) error {
	what, next := api.StageExcess(fmt.Sprintf("%d bytes or more", n), most)
	return &api.Error{Problem: api.Invalid, What: what, Subject: "--" + stageFlag, Tried: "comparing sizes with the limit of the frontend; nothing was sent", Next: next}
}

// add adds one argument. A path that holds = must be followed by =NAME.
func (s *Staged) add(argument string, errs io.Writer) error {
	if argument == "" {
		return errors.New("it is empty; name a file or a folder, . for this one")
	}
	from, name := argument, ""
	if at := strings.LastIndexByte(argument, '='); at >= 0 {
		switch from, name = argument[:at], argument[at+1:]; {
		case name == "":
			return errors.New("there is no name behind =; give one, or leave out the =")
		case from == "": // a variable that a script has not set
			return errors.New("there is no file or folder before =; name one, . for this folder")
		}
	}
	info, err := os.Lstat(filepath.Clean(from))
	if err != nil {
		return err
	}
	if name == "" {
		full, err := filepath.Abs(from)
		if err != nil {
			return err
		}
		name = filepath.Base(full)
	}
	switch {
	case info.IsDir():
		return s.addFolder(filepath.Clean(from), path.Clean(name), errs)
	case info.Mode().IsRegular():
		return s.addFile(filepath.Clean(from), name)
	}
	return errors.New("it is no regular file, and links are not followed; name the file itself")
}

// addFolder adds the regular files of a folder, in the order of a walk.
func (s *Staged) addFolder(folder, name string, errs io.Writer) error {
	left := 0
	err := filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			left++
			return nil
		}
		below, err := filepath.Rel(folder, at)
		if err != nil {
			return err
		}
		return s.addFile(at, path.Join(name, filepath.ToSlash(below)))
	})
	if left > 0 && err == nil {
		fmt.Fprintf(errs, "pigeon: --%s %s: %s left out that are no regular files, such as links\n", stageFlag, folder, sched.Count(left, "entry is", "entries are"))
	}
	return err
}

// addFile adds a file, which is not read yet.
func (s *Staged) addFile(from, name string) error {
	if len(s.list) >= api.MaxStagedFiles {
		return fmt.Errorf("these are more than %d files, the limit of a job; pack them into one and unpack that in the task, or put them on storage that the nodes share", api.MaxStagedFiles)
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	s.list = append(s.list, api.StagedFile{Name: name, Size: info.Size()})
	s.from = append(s.from, from)
	return nil
}

// read reads a file of the list once, for its hash.
func (s *Staged) read(i int) error {
	from := s.from[i]
	in, err := files.Below(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	f, err := files.OpenRegular(in, filepath.Base(from))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	s.list[i] = api.StagedFile{Name: s.list[i].Name, SHA256: sum, Size: n, Executable: info.Mode()&0o100 != 0}
	if _, known := s.Paths[sum]; !known {
		s.bytes += n
	}
	s.Paths[sum] = from
	return nil
}
