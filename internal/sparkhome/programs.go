package sparkhome

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Runnable returns the Spark of an environment, whose Java can run it.
func Runnable(ctx context.Context, getenv func(string) string) (Home, error) {
	places := Machine(getenv)
	home, err := Find(ctx, places)
	if err == nil {
		err = CheckJava(places)
	}
	return home, err
}

// Plugin returns the jar of the plugin for a Spark, which lies beside this program unless the
// environment names it, and the path of this program.
func Plugin(home Home, getenv func(string) string) (jar, program string, err error) {
	if program, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("the folder of this program is not known: %w", err)
	}
	if target, err := filepath.EvalSymlinks(program); err == nil {
		program = target
	}
	jar, err = FindJar(home, getenv, program)
	return jar, program, err
}
