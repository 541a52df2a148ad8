package api

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of the files that are sent with a job, whatever a frontend allows.
const (
	MaxStagedFiles = 1000      // of a job
	MaxStagedName  = 1024      // bytes of one name
	MaxStagedNames = 256 << 10 // bytes of the names of a job, together
	stagedBytes    = 64 + 3*16 // of a file besides its name, as a frontend keeps it
)

// StagedFile is a file that is sent with a job. Each attempt finds a copy of its own under the
// name in its working folder.
type StagedFile struct {
	Name       string // relative, with / between names
	SHA256     string // lower-case hexadecimal
	Size       int64  // bytes
	Executable bool
}

// GoString implements [fmt.GoStringer]: fingerprints of requests are made of it.
func (f StagedFile) GoString() string {
	return fmt.Sprintf("{%q %s %d %t}", f.Name, f.SHA256, f.Size, f.Executable)
}

// File returns the content that the file has.
func (f *StagedFile) File() File { return File{Name: f.Name, SHA256: f.SHA256, Size: f.Size} }

// StageBytes returns roughly how many bytes a list of staged files takes.
func StageBytes(list []StagedFile) (n int64) {
	for i := range list {
		n += stagedBytes + int64(len(list[i].Name))
	}
	return n
}

// StagedContent returns how many bytes the files have together, each content counted once.
func StagedContent(list []StagedFile) (n int64) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		if f := &list[i]; !seen[f.SHA256] {
			seen[f.SHA256] = true
			n += f.Size
		}
	}
	return n
}

// StageExcess returns why a frontend does not take the staged files of a job, which have so many
// bytes, and what to do.
func StageExcess(have string, limit int64) (what, next string) {
	next = "put them on storage that the nodes share, or have the task fetch them"
	if limit <= 0 {
		return "this frontend takes no staged files (stage_job_bytes is 0)", next
	}
	return fmt.Sprintf("the staged files of the job have %s, more than the limit of %d a job (stage_job_bytes)", have, limit), next + ", or raise stage_job_bytes of the frontend"
}

// sameFiles reports whether two lists are equal. Those of the tasks of a job are one list.
func sameFiles(a, b []StagedFile) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// StageFault returns what is wrong with a list of files that are sent with a job, and what to do;
// "" when nothing is.
func StageFault(list []StagedFile) (what, next string) {
	if len(list) > MaxStagedFiles {
		return fmt.Sprintf("it has %d staged files, more than the limit of %d a job", len(list), MaxStagedFiles), "pack them into one file and unpack that in the task, or put them on storage that the nodes share"
	}
	names, size := make(map[string]bool, len(list)), make(map[string]int64, len(list))
	total := 0
	for i := range list {
		f := &list[i]
		if what := f.fault(); what != "" {
			return fmt.Sprintf("its staged file %q %s", clipped(f.Name), what), "give it a relative name below the working folder, by FILE=NAME"
		}
		if names[f.Name] {
			return fmt.Sprintf("two of its staged files have the name %q", clipped(f.Name)), "give one of them another name, by FILE=NAME"
		}
		if known, twice := size[f.SHA256]; twice && known != f.Size {
			return fmt.Sprintf("its staged file %q has %d bytes, and another of the same SHA-256 has %d", clipped(f.Name), f.Size, known), "state the actual hashes and sizes"
		}
		names[f.Name], size[f.SHA256] = true, f.Size
		total += len(f.Name)
	}
	if total > MaxStagedNames {
		return fmt.Sprintf("the names of its staged files have %d bytes, more than the limit of %d a job", total, MaxStagedNames), "pack them into one file, or use shorter names"
	}
	for name := range names { // any one will do
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if names[above] {
				return fmt.Sprintf("the name %q is that of a staged file and of a folder of others", clipped(above)), "give the file another name, by FILE=NAME"
			}
		}
	}
	return "", ""
}

// fault returns what is wrong with one file by itself.
func (f *StagedFile) fault() string {
	switch {
	case len(f.Name) > MaxStagedName:
		return fmt.Sprintf("has a name of %d bytes, more than the limit of %d", len(f.Name), MaxStagedName)
	case !fs.ValidPath(f.Name) || f.Name == "." || strings.IndexByte(f.Name, 0) >= 0:
		return "has a name that is not a relative path in its shortest form: it must be UTF-8 and neither begin with / nor have the elements . or .., empty ones or zero bytes"
	case slices.ContainsFunc(strings.Split(f.Name, "/"), func(s string) bool { return len(s) > 255 }):
		return "has a name with an element longer than 255 bytes, which no file system takes"
	case !IsSHA256(f.SHA256):
		return fmt.Sprintf("has the SHA-256 %q, which is not 64 lower-case hexadecimal digits", clipped(f.SHA256))
	case f.Size < 0:
		return fmt.Sprintf("has %d bytes", f.Size)
	}
	return ""
}

// stageFault returns why the files cannot be sent with this job, and what to do.
func (r *Request) stageFault() (what, next string) {
	if len(r.Stage) == 0 {
		return "", ""
	}
	if r.Backend != BackendExec {
		return fmt.Sprintf("it has staged files, and tasks of the backend %q have no working folder", r.Backend), "leave them out, or make it an exec job"
	}
	if what, next := StageFault(r.Stage); what != "" {
		return what, next
	}
	for i := range r.Tasks {
		e := r.Tasks[i].Payload.Exec
		switch {
		case e == nil || len(e.Argv) == 0: // refused as a task
		case e.Dir != "":
			return fmt.Sprintf("it has staged files and a working folder %q of its own, where attempts would change each other's copies", clipped(e.Dir)), "leave out the folder (--dir): each attempt then has one of its own"
		case len(e.Script) > 0 && slices.ContainsFunc(r.Stage, func(f StagedFile) bool {
			first, _, _ := strings.Cut(f.Name, "/")
			return first == ScriptName(e.Argv[0])
		}):
			return fmt.Sprintf("a staged file has the name of its script, %q", ScriptName(e.Argv[0])), "give it another one, by FILE=NAME"
		}
	}
	return "", ""
}

// ScriptName returns the name of the file in which a node keeps a script that came with its job.
func ScriptName(program string) string {
	const most = 100
	name := path.Base(program)
	if name == "." || name == ".." || name == "/" || len(name) > most {
		return "script"
	}
	return name
}
