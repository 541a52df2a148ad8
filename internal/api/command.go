package api

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCommand bounds the bytes of a command that is shown.
const maxCommand = 200

// Command returns what the first task runs, as a shell would read it, cut after 200 bytes; ""
// for work of an application.
func (r *Request) Command() string {
	if len(r.Tasks) == 0 {
		return ""
	}
	p := &r.Tasks[0].Payload
	switch {
	case p.Backend == BackendSleep:
		return "sleep " + p.Sleep.String()
	case p.Exec == nil:
		return ""
	}
	if argv := p.Exec.Argv; len(argv) == 3 && argv[1] == "-c" && len(argv[2]) > maxCommand && r.Name != "" && strings.HasPrefix(path.Base(argv[0]), "python") {
		return Clip("python: "+r.Name, maxCommand) // the source says nothing in so few bytes
	}
	var b strings.Builder
	for i, arg := range p.Exec.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > maxCommand {
			break
		}
		if len(arg) > maxCommand {
			arg = arg[:maxCommand] + "..." // the whole is cut below
		}
		b.WriteString(argument(arg))
	}
	return Clip(b.String(), maxCommand)
}

// argument returns an argument, quoted where a shell would read it otherwise or a terminal would
// not print it.
func argument(arg string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < utf8.RuneSelf && r != 0x7f && !strings.ContainsRune("\"'\\`$&|;<>()*?[]#~!{}", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	if !strings.Contains(arg, "'") && strconv.Quote(arg) == `"`+strings.ReplaceAll(strings.ReplaceAll(arg, `\`, `\\`), `"`, `\"`)+`"` {
		return "'" + arg + "'"
	}
	return strconv.Quote(arg)
}
