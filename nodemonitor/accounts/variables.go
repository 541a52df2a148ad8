package accounts

import (
	"os"
	"strings"
)

// inherited are the variables that processes have from the node monitor's own environment;
// task_env adds others.
var inherited = []string{"PATH", "LANG", "LC_ALL", "TZ"}

// withoutPath is the PATH where the node monitor has none.
const withoutPath = "/usr/local/bin:/usr/bin:/bin"

// given returns the variables that do not depend on the account: KEY=value.
func given(taskEnv []string, lookup func(string) (string, bool)) (env []string) {
	for _, name := range inherited {
		if value, ok := lookup(name); ok && value != "" {
			env = append(env, name+"="+value)
		}
	}
	if path, ok := lookup("PATH"); !ok || path == "" {
		env = append(env, "PATH="+withoutPath)
	}
	for _, v := range taskEnv {
		if strings.Contains(v, "=") {
			env = append(env, v)
		} else if value, ok := lookup(v); ok {
			env = append(env, v+"="+value)
		}
	}
	return env
}

// Environment returns the variables of every process of the account, KEY=value, where a later
// one replaces an earlier one of the same name. names are further ones to take from the node
// monitor's own environment.
func (a *Accounts) Environment(of *Account, names ...string) []string {
	env := []string{"HOME=" + of.Home, "USER=" + of.Name, "LOGNAME=" + of.Name, "SHELL=/bin/sh"}
	if of.As == nil { // what the node monitor's user may use
		names = append(names, "TMPDIR")
	}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, a.env...)
}
