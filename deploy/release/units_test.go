package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unitsFolder = repository + "/packaging/systemd"

// needAnalyzer skips a test without systemd-analyze.
func needAnalyzer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
}

// unitNames returns the names of the units: an instance for each template.
func unitNames(t *testing.T) (names []string) {
	t.Helper()
	found, err := os.ReadDir(unitsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		names = append(names, strings.Replace(d.Name(), "@.", "@0.", 1))
	}
	if len(names) < 6 {
		t.Fatalf("only %q", names)
	}
	return names
}

// unitsRoot returns a root folder with the units and an executable file in place of each
// program that they start.
func unitsRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, program := range []string{"usr/bin/pigeon", "bin/kill"} {
		path := filepath.Join(root, program)
		if err := writeFile(path, []byte("#!/bin/sh\n")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadDir(unitsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		text, err := os.ReadFile(filepath.Join(unitsFolder, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFile(filepath.Join(root, "usr/lib/systemd/system", d.Name()), text); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// systemd-analyze finds no fault in the units: no unknown key, no program that is missing.
func TestUnitsAreValid(t *testing.T) {
	needAnalyzer(t)
	root := unitsRoot(t)
	for _, name := range unitNames(t) {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", "--root="+root, name).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "pigeon") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// The exposure of every unit is below 4.0, of 10, as systemd-analyze judges it.
func TestUnitsAreHardened(t *testing.T) {
	needAnalyzer(t)
	root := unitsRoot(t)
	for _, name := range unitNames(t) {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=39", "--no-pager", "--root="+root, name).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Logf("%s: %s", name, lines[len(lines)-1])
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// setting returns the values of a key in a unit.
func setting(unit, key string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

func readUnit(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(unitsFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What every unit must contain, or its daemon would not come back, would be killed while it
// stops, or would end the tasks that run below it.
func TestUnitsFitTheDaemons(t *testing.T) {
	for _, name := range unitNames(t) {
		unit := readUnit(t, strings.Replace(name, "@0.", "@.", 1))
		for key, want := range map[string]string{"Type": "notify", "Restart": "always", "RestartPreventExitStatus": "2", "StartLimitIntervalSec": "0", "UMask": "0077", "NoNewPrivileges": "yes"} {
			if got := setting(unit, key); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
		if got := setting(unit, "PrivateUsers"); len(got) != 0 {
			t.Errorf("%s: PrivateUsers is %q; the kernel would name no user of the host", name, got)
		}
		if user := setting(unit, "User"); (len(user) == 0) != (name == "pigeon-node.service") {
			t.Errorf("%s runs as %q", name, user)
		}
	}
	node := readUnit(t, "pigeon-node.service")
	for key, want := range map[string]string{"KillMode": "process", "Delegate": "yes", "OOMPolicy": "continue", "ExecReload": "/bin/kill -USR2 $MAINPID", "TimeoutStopSec": "45"} {
		if got := setting(node, key); len(got) != 1 || got[0] != want {
			t.Errorf("the node's %s is %q, want %q", key, got, want)
		}
	}
}

// A template differs from the unit of its name in the instance alone.
func TestTemplatesFollowTheirUnits(t *testing.T) {
	for _, role := range []string{"frontend", "master"} {
		unit, template := readUnit(t, "pigeon-"+role+".service"), readUnit(t, "pigeon-"+role+"@.service")
		text := func(s string) string {
			_, rest, _ := strings.Cut(s, "[Unit]")
			return rest
		}
		want := strings.NewReplacer("Description=Pigeon "+role, "Description=Pigeon "+role+" %i", "/etc/pigeon/"+role, "/etc/pigeon/"+role+"-%i",
			"=pigeon/"+role, "=pigeon/"+role+"-%i", "/lib/pigeon/"+role, "/lib/pigeon/"+role+"-%i").Replace(text(unit))
		if got := text(template); got != want {
			t.Errorf("pigeon-%s@.service is not as pigeon-%s.service:\n%s", role, role, got)
		}
	}
}
