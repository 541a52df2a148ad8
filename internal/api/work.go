package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWordBytes bounds the program and the argument in the name of a work.
const maxWordBytes = 100

// Declares reports whether the request states the class of the job: by its class, by an
// estimate, or by the published isHT.
func (r *Request) Declares() bool { return r.Class != "" || r.Mean() > 0 || r.HT }

// Work returns the name of the work, under which its class is learned: the name of the
// request, else of processes the last element of the program's path and that of its first
// argument, "sleep" of the built-in sleep, and of other backends that of the application. An
// argument that is an option, empty, or no short line of text is left out.
func (r *Request) Work() string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Backend == BackendSleep:
		return string(BackendSleep)
	case r.Backend != BackendExec:
		return r.App
	case len(r.Tasks) == 0 || r.Tasks[0].Payload.Exec == nil || len(r.Tasks[0].Payload.Exec.Argv) == 0:
		return ""
	}
	argv := r.Tasks[0].Payload.Exec.Argv
	work := asWord(argv[0])
	if len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		if argument := base(argv[1]); argument != "" && asWord(argument) == argument {
			work += " " + argument
		}
	}
	return work
}

// asWord returns the last element of a path as a short line of text.
func asWord(path string) string {
	word := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, base(path))
	most := min(len(word), maxWordBytes)
	for most < len(word) && !utf8.RuneStart(word[most]) {
		most--
	}
	return word[:most]
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
