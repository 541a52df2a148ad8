package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// clone makes a clone of the commit in which its only tag is the version: Go writes that version
// into the program, and nothing that is not committed comes in.
func (r *release) clone(ctx context.Context, commit string) error {
	full, err := git(ctx, r.root, "rev-parse", "--verify", commit+"^{commit}")
	if err != nil {
		return err
	}
	if changes, err := git(ctx, r.root, "status", "--porcelain"); err == nil && changes != "" {
		r.sayf("what is not committed here is not released:\n%s", changes)
	}
	if _, err := git(ctx, r.root, "clone", "--quiet", "--no-checkout", "--shared", r.root, r.source); err != nil {
		return err
	}
	if _, err := git(ctx, r.source, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", full); err != nil {
		return err
	}
	tags, err := git(ctx, r.source, "tag", "--points-at", "HEAD")
	if err != nil {
		return err
	}
	for tag := range strings.FieldsSeq(tags) {
		if _, err := git(ctx, r.source, "tag", "--delete", tag); err != nil {
			return err
		}
	}
	if _, err := git(ctx, r.source, "tag", "--force", "v"+r.version); err != nil {
		return err
	}
	seconds, err := git(ctx, r.source, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of commit %s is %q: %w", full, seconds, err)
	}
	r.commit, r.time = full, time.Unix(epoch, 0).UTC()
	return nil
}

func git(ctx context.Context, folder string, args ...string) (string, error) {
	out, err := output(ctx, folder, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// output runs a program and returns what it prints; the error has its standard error.
func output(ctx context.Context, folder string, environ []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = folder, environ
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &problem)
	}
	return out, nil
}

// buildAll builds the program of every platform and checks that it reports what it was built from.
func (r *release) buildAll(ctx context.Context) error {
	for _, p := range r.built() {
		r.sayf("building %s", p)
		program := r.staged(p, "pigeon")
		environ := append(goEnviron(), "GOOS="+p.os, "GOARCH="+p.arch)
		if _, err := output(ctx, r.source, environ, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", program, "./cmd/pigeon"); err != nil {
			return err
		}
		if err := r.checkProgram(program); err != nil {
			return err
		}
	}
	return nil
}

// goEnviron returns this environment without what changes the bytes that Go makes.
func goEnviron() (environ []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "GODEBUG", "CGO_ENABLED", "GOWORK", "GO111MODULE":
		default:
			environ = append(environ, v)
		}
	}
	return append(environ, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
}

// checkProgram compares the version and commit of a program with the requested ones.
func (r *release) checkProgram(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	stamp := map[string]string{}
	for _, s := range info.Settings {
		stamp[s.Key] = s.Value
	}
	if want := "v" + r.version; info.Main.Version != want {
		return fmt.Errorf("the program has version %s, not %s; a version from 2.0.0 on needs a module path that ends in /v2", info.Main.Version, want)
	}
	if stamp["vcs.revision"] != r.commit || stamp["vcs.modified"] != "false" {
		return fmt.Errorf("the program says commit %q, modified %q, and is to be of commit %s", stamp["vcs.revision"], stamp["vcs.modified"], r.commit)
	}
	return nil
}
