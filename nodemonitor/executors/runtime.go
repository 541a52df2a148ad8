package executors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findRuntime finds the home from which the executor runs: the one configured under its
// name, otherwise the application's own when it is here too, each only if it has the
// files that it must have.
func (p *preparation) findRuntime() *end {
	r := p.x.app.Template.Runtime
	if r == nil {
		return nil
	}
	var tried []string
	configured := p.cfg.Runtimes[r.Name]
	for _, c := range []struct{ home, whose string }{
		{configured, "the node's own (runtimes)"}, {r.Path, "the application's"},
	} {
		switch lacks := missing(c.home, r.MustHold); {
		case c.home == "":
			tried = append(tried, fmt.Sprintf("%s: none is given", c.whose))
		case lacks == "":
			p.home = c.home
			return nil
		default:
			tried = append(tried, fmt.Sprintf("%s: %s has no %s%s", c.whose, c.home, lacks, contents(c.home, r.Shows)))
		}
	}
	next := fmt.Sprintf("install %s %s there, or name its home in the node's runtimes as %s=HOME", r.Name, r.Version, r.Name)
	if r.Setting != "" {
		next += ", or set " + r.Setting
	}
	return p.x.refusal(fmt.Sprintf("it needs %s %s, which the node does not have; %s", r.Name, r.Version, strings.Join(tried, "; ")), "looking for what it runs from", next)
}

// missing returns the first file that a home lacks, "" when it has all.
func missing(home string, must []string) string {
	if info, err := os.Stat(home); home == "" || err != nil || !info.IsDir() {
		return "such folder"
	}
	for _, name := range must {
		if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(name))); err != nil {
			return name
		}
	}
	return ""
}

// contents returns what is in a home, by the patterns of the application.
func contents(home string, patterns []string) string {
	const most = 5
	var found []string
	for _, p := range patterns {
		list, err := filepath.Glob(filepath.Join(home, filepath.FromSlash(p)))
		if err != nil {
			continue // the application's pattern is malformed
		}
		for _, path := range list {
			if rel, err := filepath.Rel(home, path); err == nil && len(found) < most {
				found = append(found, rel)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (there is " + strings.Join(found, ", ") + ")"
}

// findJava finds the home of Java when the template uses it: by the environment of the
// application, by that of the node monitor, or where the program in its PATH is.
func (p *preparation) findJava() *end {
	t := &p.x.app.Template
	if !t.Uses("JAVA_HOME") {
		return nil
	}
	var looked []string
	for _, kv := range t.Env {
		if home, ok := strings.CutPrefix(kv, "JAVA_HOME="); ok && !strings.Contains(home, "{{") {
			looked = append(looked, home)
		}
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		looked = append(looked, home)
	}
	if path, err := exec.LookPath("java"); err == nil {
		if program, err := filepath.EvalSymlinks(path); err == nil {
			looked = append(looked, filepath.Dir(filepath.Dir(program)))
		}
	}
	for _, home := range looked {
		if missing(home, []string{"bin/java"}) == "" {
			p.java = home
			return nil
		}
	}
	what := "there is no Java on the node: neither JAVA_HOME nor the PATH of the node monitor has one"
	if len(looked) > 0 {
		what = "there is no bin/java in " + strings.Join(looked, ", nor in ")
	}
	return p.x.refusal(what, "looking for Java", "install Java on the node, or set JAVA_HOME in the node monitor's environment or in the application's")
}
