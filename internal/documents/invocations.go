package documents

import (
	"regexp"
	"strings"
)

// Invocation is a call of the program that a page mentions.
type Invocation struct {
	Line  int      // of the page, from 1
	Words []string // verb, arguments and flags, without the program's name
}

var (
	inline = regexp.MustCompile("`([^`]+)`")
	// calls matches a call of each program at the beginning of a line of a block, after a prompt, an
	// assignment of a variable, another command's pipe, or sudo.
	calls = map[string]*regexp.Regexp{"pigeon": callOf("pigeon"), "pigeon-bench": callOf("pigeon-bench")}
)

func callOf(program string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[|;&(] ?|\$ |\bsudo |\bexec )(?:[A-Z_]+=\S* )*(?:bin/|\./|/usr/bin/)?` + program + ` ([a-z].*)$`)
}

// Invocations returns the calls of a program, pigeon or pigeon-bench, in code blocks and between
// backquotes.
func Invocations(page, program string) []Invocation {
	var list []Invocation
	block, console := false, false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			block = !block
			console = block && strings.TrimSpace(line[3:]) == "console"
			continue
		}
		var texts []string
		switch {
		case console && !strings.HasPrefix(line, "$ ") && !strings.HasPrefix(line, "> "): // what a command prints
		case block || strings.HasPrefix(line, "    "):
			texts = []string{strings.TrimSpace(line)}
		default:
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				texts = append(texts, m[1])
			}
		}
		for _, text := range texts {
			if m := calls[program].FindStringSubmatch(text); m != nil {
				list = append(list, Invocation{Line: i + 1, Words: words(m[1])})
			}
		}
	}
	return list
}

// words are those of the call alone: up to a pipe, a redirection, the next command, a comment
// (two spaces or more, or #), or the program of a task, which follows "--".
func words(text string) []string {
	for _, end := range []string{"  ", " #", " | ", " > ", " >> ", " && ", " || ", " & ", "; ", " < ", ")"} {
		text, _, _ = strings.Cut(text, end)
	}
	text = strings.TrimSuffix(text, " &")
	var list []string
	for w := range strings.FieldsSeq(text) {
		if w == "--" {
			break
		}
		list = append(list, w)
	}
	return list
}
