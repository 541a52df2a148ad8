package documents

import (
	"slices"
	"strings"
	"testing"
)

const page = "# A page\n" +
	"```console\n" +
	"$ pigeon run -- echo 'a\n" +
	"> b'\n" +
	"a\n" +
	"b\n" +
	"\n" +
	"$ false\n" +
	"[status 1]\n" +
	"```\n" +
	"```yaml\n" +
	"$ no: command\n" +
	"```\n" +
	"text\n" +
	"```console\n" +
	"$ true\n" +
	"```\n"

func TestCommands(t *testing.T) {
	got, err := Commands(page)
	want := []Command{
		{Line: 3, Text: "pigeon run -- echo 'a\nb'", Expected: []string{"a", "b"}},
		{Line: 8, Text: "false", Expected: []string{}, Status: 1},
		{Line: 16, Text: "true"},
	}
	if err != nil || !slices.EqualFunc(got, want, func(a, b Command) bool {
		return a.Line == b.Line && a.Text == b.Text && a.Status == b.Status && slices.Equal(a.Expected, b.Expected)
	}) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := Commands("```console\nhello\n```\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a block that begins with output: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, expected, output string
		want, got              int // exit status
		good                   bool
	}{
		{"the same", "a\nb", "a\nb\n", 0, 0, true},
		{"other text", "a\nb", "a\nc\n", 0, 0, false},
		{"more than the page says", "a", "a\nb\n", 0, 0, false},
		{"less", "a\nb", "a\n", 0, 0, false},
		{"widths of columns", "ID  STATE", "ID     STATE  \n", 0, 0, true},
		{"another word", "ID  STATE", "IDSTATE\n", 0, 0, false},
		{"in a line", "job ... ended", "job 17 has ended\n", 0, 0, true},
		{"in a line, with what means something in a pattern", "[a] (b) ...", "[a] (b) c\n", 0, 0, true},
		{"lines", "a\n...\nz", "a\nb\nc\nz\n", 0, 0, true},
		{"no lines", "a\n...\nz", "a\nz\n", 0, 0, true},
		{"lines, then too many", "a\n...\nz", "a\nz\ny\n", 0, 0, false},
		{"nothing said", "", "anything\n", 0, 0, true},
		{"another status", "", "", 0, 3, false},
		{"the status that the page says", "", "", 3, 3, true},
		{"no failure", "", "", 3, 0, false},
	} {
		command := Command{Line: 7, Text: "x", Status: c.want}
		if c.expected != "" {
			command.Expected = strings.Split(c.expected, "\n")
		}
		err := command.Check(c.output, c.got)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "line 7: $ x") {
			t.Errorf("%s: the error does not name the command: %v", c.name, err)
		}
	}
}

func TestInvocations(t *testing.T) {
	text := "Use `pigeon status --watch` or `make run`; a *pigeon sim* is none, and neither is `the pigeon flies`.\n" +
		"```\n" +
		"$ JOB=$(pigeon submit --sleep 1s)\n" +
		"PIGEON_FRONTEND=a:1 bin/pigeon run --class short -- sort --reverse\n" +
		"pigeon dev                  a cluster\n" +
		"curl x | pigeon submit --file - > out\n" +
		"```\n" +
		"    sudo pigeon doctor && true\n" +
		"```console\n" +
		"$ pigeon nodes\n" +
		"pigeon is not called here\n" +
		"```\n"
	var got []string
	for _, i := range Invocations(text, "pigeon") {
		got = append(got, strings.Join(i.Words, " "))
	}
	want := []string{"status --watch", "submit --sleep 1s", "run --class short", "dev", "submit --file -", "doctor", "nodes"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
