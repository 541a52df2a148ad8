package api

import (
	"fmt"
	"strings"
	"unicode"
)

// appScopeMark separates the user to whom an application belongs from the name that it gives
// itself.
const appScopeMark = "›"

// ScopedApp returns the daemons' name of an application of the published protocols:
// that of the user who runs it, and the name that it gives itself. So no user can receive the
// messages of another's application, or run its tasks, by giving its own the same name. who
// is "" for the daemons' own user, whose applications have their plain names.
func ScopedApp(who, app string) string {
	if who == "" || app == "" {
		return app
	}
	return strings.ReplaceAll(who, appScopeMark, "_") + appScopeMark + app
}

// AppScope returns the user who runs an application, by its scoped name, "" for the daemons'
// own user.
func AppScope(scoped string) string {
	if who, _, ok := strings.Cut(scoped, appScopeMark); ok {
		return who
	}
	return ""
}

// PlainApp returns the name that an application gives itself.
func PlainApp(scoped string) string {
	if _, app, ok := strings.Cut(scoped, appScopeMark); ok {
		return app
	}
	return scoped
}

// AppFault returns what is wrong with the name of an application of the published protocols, and what to do;
// "" when nothing is. Bytes that are not UTF-8 are no fault: clients of the prototypes may send them.
func AppFault(name string) (what, next string) {
	switch {
	case name == "" || len(name) > MaxKeyBytes:
		return fmt.Sprintf("has %d bytes", len(name)), fmt.Sprintf("give a name of 1 to %d bytes", MaxKeyBytes)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character", "give a name without one"
	}
	return "", ""
}
