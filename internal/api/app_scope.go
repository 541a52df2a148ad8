package api

import "strings"

// appScopeMark separates the user to whom an application belongs from the name that it gives
// itself.
const appScopeMark = "›"

// ScopedApp returns the name by which daemons know an application of the published protocols:
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
