package documents

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Command is one command of a page, with what it prints.
type Command struct {
	Line     int      // of the page, from 1
	Text     string   // for the shell; may have several lines
	Expected []string // what it prints; none: anything
	Status   int      // exit status
}

var statusLine = regexp.MustCompile(`^\[status (\d{1,3})\]$`)

// Commands returns the commands of the console blocks of a page in Markdown, in their order.
// A block that begins with something else than a command is an error that names the line.
func Commands(page string) ([]Command, error) {
	var list []Command
	inside, open := false, false // inside a block; open: a command of this block was seen
	for i, line := range strings.Split(page, "\n") {
		number := i + 1
		switch {
		case strings.HasPrefix(line, "```"):
			inside, open = !inside && strings.TrimSpace(line[3:]) == "console", false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			list = append(list, Command{Line: number, Text: line[2:]})
			open = true
		case !open:
			return nil, fmt.Errorf("line %d: a console block begins with %q, not with a command (\"$ ...\")", number, line)
		default:
			list[len(list)-1].add(line)
		}
	}
	for i := range list {
		list[i].end()
	}
	return list, nil
}

// add takes the next line below the command.
func (c *Command) add(line string) {
	if more, ok := strings.CutPrefix(line, "> "); ok && len(c.Expected) == 0 {
		c.Text += "\n" + more
		return
	}
	c.Expected = append(c.Expected, strings.TrimRight(line, " "))
}

// end takes the exit status out of the expected lines, and empty lines at their end, which
// separate commands.
func (c *Command) end() {
	trim := func() {
		for n := len(c.Expected); n > 0 && c.Expected[n-1] == ""; n-- {
			c.Expected = c.Expected[:n-1]
		}
	}
	trim()
	if n := len(c.Expected); n > 0 {
		if m := statusLine.FindStringSubmatch(c.Expected[n-1]); m != nil {
			c.Status, _ = strconv.Atoi(m[1]) // at most three digits
			c.Expected = c.Expected[:n-1]
			trim()
		}
	}
}

// Check compares what the command printed, and its exit status, with what the page says.
// The error shows both.
func (c *Command) Check(output string, status int) error {
	if status != c.Status {
		return fmt.Errorf("line %d: $ %s\nended with status %d, the page says %d; it printed\n%s", c.Line, c.Text, status, c.Status, output)
	}
	got := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(c.Expected) == 0 || matchLines(c.Expected, got) {
		return nil
	}
	return fmt.Errorf("line %d: $ %s\nprinted\n%s\nthe page says\n%s", c.Line, c.Text, output, strings.Join(c.Expected, "\n"))
}

// matchLines reports whether the lines are those expected, where "..." alone stands for any
// number of them. Whether want[i:] matches got[j:] depends on nothing else, so each pair is
// tried once.
func matchLines(want, got []string) bool {
	// reach[j] says whether the lines of want so far match got[:j].
	reach := make([]bool, len(got)+1)
	reach[0] = true
	for _, w := range want {
		next := make([]bool, len(got)+1)
		if w == "..." {
			some := false
			for j := range reach {
				some = some || reach[j]
				next[j] = some
			}
		} else {
			line := pattern(strings.TrimSpace(w))
			for j := range got {
				next[j+1] = reach[j] && line.MatchString(strings.TrimSpace(got[j]))
			}
		}
		reach = next
	}
	return reach[len(got)]
}

var spaces = regexp.MustCompile(`\s+`)

// pattern matches a line in which "..." stands for any characters, and any number of spaces
// for any other, because the widths of columns depend on what is in them.
func pattern(line string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for i, part := range strings.Split(line, "...") {
		if i > 0 {
			b.WriteString(`.*`)
		}
		for j, word := range spaces.Split(part, -1) {
			if j > 0 {
				b.WriteString(`\s+`)
			}
			b.WriteString(regexp.QuoteMeta(word))
		}
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String())
}
