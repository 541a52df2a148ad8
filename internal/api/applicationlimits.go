package api

import (
	"encoding/hex"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
)

// Limits of an application's requests.
const (
	MaxTemplateBytes = 1 << 20 // of a template's arguments and variables
	MaxFiles         = 64
	MaxFileBytes     = 512 << 20
	MaxLevels        = 10_000
	MaxLevelTasks    = 100_000 // grants that a level may wait for
	MaxHosts         = 1000    // of a level
	MaxExecutors     = 10_000  // of an application
	MaxPiece         = 1 << 20 // bytes of a file sent at once
)

// applicationID matches names that can also name folders.
var applicationID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// IsApplicationID reports whether s can name an application, an executor or a file:
// 1 to 128 letters, digits, dots, dashes and underscores, without a dot or a
// dash first. Such a name can also name a folder.
func IsApplicationID(s string) bool { return applicationID.MatchString(s) }

// placeholders are the names that a template may contain, in addition to {{FILE:name}}.
var placeholders = []string{
	"EXECUTOR_ID", "APP_ID", "HOSTNAME", "SLOTS", "FOLDER", "RUNTIME", "NODE", "TOKEN", "JAVA_HOME", "LOG_STDOUT", "LOG_STDERR",
}

// Validate returns an *[Error] when the application can never work.
func (a *Application) Validate() error {
	t := &a.Template
	switch {
	case !IsApplicationID(a.ID):
		return a.bad("its id is not a name of 1 to 128 letters, digits, dots, dashes and underscores", "choose another id")
	case len(a.Name) > MaxKeyBytes || len(a.User) > MaxKeyBytes || len(a.Token) > MaxKeyBytes:
		return a.bad(fmt.Sprintf("its name, user or token is longer than %d bytes", MaxKeyBytes), "use a shorter one")
	case len(t.Argv) == 0 || t.Argv[0] == "":
		return a.bad("its template names no program to run", "give the program and its arguments")
	case len(t.Argv)+len(t.Env) > MaxExecStrings:
		return a.bad(fmt.Sprintf("its template has %d arguments and variables, more than the limit of %d", len(t.Argv)+len(t.Env), MaxExecStrings), "pass less, or a file")
	case size(t.Argv)+size(t.Env) > MaxTemplateBytes:
		return a.bad(fmt.Sprintf("its template's arguments and variables have more than %d bytes", MaxTemplateBytes), "pass less, or a file")
	case t.Memory <= 0 || t.Memory > 1<<40:
		return a.bad(fmt.Sprintf("its executors' memory is %d MB", t.Memory), "give how much one executor may use, in MB")
	case t.Slots < 0 || t.Slots > MaxTasks:
		return a.bad(fmt.Sprintf("its executors have %d slots", t.Slots), "give 1 or more, or 0 for as many as the node has")
	}
	if what, next := ownerFault(a.Owner); what != "" {
		return a.bad(fmt.Sprintf("its owner %q %s", clipped(a.Owner), what), next)
	}
	if what := t.fault(); what != "" {
		return a.bad(what, "correct its template")
	}
	return nil
}

func size(list []string) (n int) {
	for _, s := range list {
		n += len(s)
	}
	return n
}

// fault returns what is wrong with the strings, files and places of a template, ""
// when nothing.
func (t *Template) fault() string {
	if what, _ := (&Exec{Argv: t.Argv, Env: t.Env}).fault(); what != "" {
		return "its template " + what
	}
	if what := filesFault(t.Files); what != "" {
		return what
	}
	if t.Reach != "" {
		if _, port, err := net.SplitHostPort(t.Reach); err != nil || port == "" {
			return fmt.Sprintf("its executors should reach %q, which is not host:port", t.Reach)
		}
	}
	if r := t.Runtime; r != nil {
		if r.Name == "" || len(r.MustHold)+len(r.Shows) > MaxFiles {
			return fmt.Sprintf("its runtime has no name, or more than %d files to look for", MaxFiles)
		}
		for _, p := range slices.Concat(r.MustHold, r.Shows) {
			if p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
				return fmt.Sprintf("its runtime should hold %q, which is not a path inside it", p)
			}
		}
	}
	for _, s := range slices.Concat(t.Argv, t.Env) {
		if name := t.unknown(s); name != "" {
			return fmt.Sprintf("its template has {{%s}}, which has no meaning; there are %s and FILE:name of each of its files", name, strings.Join(placeholders, ", "))
		}
	}
	return ""
}

func filesFault(files []File) string {
	if len(files) > MaxFiles {
		return fmt.Sprintf("it has %d files, more than the limit of %d", len(files), MaxFiles)
	}
	seen := make(map[string]bool, len(files))
	for _, f := range files {
		switch {
		case !IsApplicationID(f.Name) || seen[f.Name]:
			return fmt.Sprintf("its file %q has an invalid name, or the name of another file", f.Name)
		case !IsSHA256(f.SHA256):
			return fmt.Sprintf("its file %q has the SHA-256 %q, which is not 64 lower-case hexadecimal digits", f.Name, f.SHA256)
		case f.Size < 0 || f.Size > MaxFileBytes:
			return fmt.Sprintf("its file %q has %d bytes, the limit is %d", f.Name, f.Size, MaxFileBytes)
		}
		seen[f.Name] = true
	}
	return ""
}

// IsSHA256 reports whether s is such a hash, in lower-case hexadecimal.
func IsSHA256(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && strings.ToLower(s) == s
}

var braces = regexp.MustCompile(`\{\{([A-Z_]+)(?::([^{}]*))?\}\}`)

// Expand replaces the placeholders of s; value returns the replacement of a name
// and, for FILE, of its argument.
func Expand(s string, value func(name, argument string) string) string {
	return braces.ReplaceAllStringFunc(s, func(m string) string {
		parts := braces.FindStringSubmatch(m)
		return value(parts[1], parts[2])
	})
}

// unknown returns the first placeholder in s without a meaning, "" when there is none.
func (t *Template) unknown(s string) (name string) {
	Expand(s, func(n, argument string) string {
		whole := n
		if argument != "" {
			whole += ":" + argument
		}
		known := argument == "" && slices.Contains(placeholders, n) ||
			n == "FILE" && slices.ContainsFunc(t.Files, func(f File) bool { return f.Name == argument })
		if !known && name == "" {
			name = whole
		}
		return ""
	})
	return name
}

// Uses reports whether the template contains a placeholder of that name.
func (t *Template) Uses(name string) bool {
	return slices.ContainsFunc(slices.Concat(t.Argv, t.Env), func(s string) bool { return strings.Contains(s, "{{"+name+"}}") })
}

func (a *Application) bad(what, next string) error {
	return &Error{Problem: Invalid, What: what, Subject: fmt.Sprintf("application %q", clipped(a.ID)), Tried: "registering it; nothing was accepted", Next: next}
}

// Validate returns an *[Error] when the request can never be granted.
func (w *Wants) Validate() error {
	bad := func(what, next string) error {
		return &Error{Problem: Invalid, What: what, Subject: fmt.Sprintf("application %q", clipped(w.Application)), Tried: "taking what it wants; nothing was changed", Next: next}
	}
	switch {
	case w.Executors < EveryNode:
		return bad(fmt.Sprintf("it wants %d executors", w.Executors), fmt.Sprintf("want 0 or more, or %d for one on every node", EveryNode))
	case w.Executors > MaxExecutors || len(w.Stop) > MaxExecutors:
		return bad(fmt.Sprintf("it wants %d executors and %d to be stopped, the limit is %d", w.Executors, len(w.Stop), MaxExecutors), "want fewer")
	case len(w.Levels) > MaxLevels:
		return bad(fmt.Sprintf("it has %d levels at once, the limit is %d", len(w.Levels), MaxLevels), "want fewer at a time")
	case w.LastExecutor < 0:
		return bad("its last executor is below zero", "give the highest number it has seen, or 0")
	}
	seen := make(map[string]bool, len(w.Levels))
	for i := range w.Levels {
		if what := w.Levels[i].fault(); what != "" || seen[w.Levels[i].Name] {
			if what == "" {
				what = "is there twice"
			}
			return bad(fmt.Sprintf("its level %q %s", clipped(w.Levels[i].Name), what), "correct it and send the request again")
		}
		seen[w.Levels[i].Name] = true
	}
	return nil
}

func (l *Level) fault() string {
	switch {
	case l.Name == "" || len(l.Name) > MaxKeyBytes:
		return fmt.Sprintf("has no name of 1 to %d bytes", MaxKeyBytes)
	case l.Had < 0 || l.Total < 0 || l.Total-l.Had > MaxLevelTasks:
		return fmt.Sprintf("wants %d grants and had %d; up to %d may be waited for at once", l.Total, l.Had, MaxLevelTasks)
	case l.Class != "" && l.Class != "short" && l.Class != "long":
		return fmt.Sprintf(`is of class %q; there are "short" and "long", and "" derives it`, clipped(l.Class))
	case l.Estimate < 0:
		return fmt.Sprintf("has the estimate %v", l.Estimate)
	case len(l.Hosts) > MaxHosts || len(l.Title) > 4*MaxKeyBytes || len(l.Why) > 4*MaxKeyBytes:
		return fmt.Sprintf("has more than %d hosts, or a title or reason longer than %d bytes", MaxHosts, 4*MaxKeyBytes)
	}
	if what, _ := ownerFault(l.Owner); what != "" {
		return fmt.Sprintf("is for the owner %q, which %s", clipped(l.Owner), what)
	}
	return ""
}
