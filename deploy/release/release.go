package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// release is one run.
type release struct {
	settings settings
	root     string // of the repository
	folder   string // for the files
	out      io.Writer

	version string    // without v
	commit  string    // in full
	time    time.Time // of the commit, which every file gets
	source  string    // a clone of the commit
	stage   string    // the files to pack, a folder for each platform
}

// versionShape is a version as Go's modules have it, without v.
var versionShape = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// make writes all files of a release.
func (r *release) make(ctx context.Context, version, commit string) (err error) {
	if !versionShape.MatchString(version) {
		return fmt.Errorf("version %q is not of the form 1.2.3 or 1.3.0-rc.1", version)
	}
	r.version = version
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.folder, err = filepath.Abs(r.folder); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "pigeon-release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary folder
	r.source, r.stage = filepath.Join(work, "source"), filepath.Join(work, "stage")
	if err := r.clone(ctx, commit); err != nil {
		return err
	}
	// Libraries that make packages look here.
	if err := os.Setenv("SOURCE_DATE_EPOCH", strconv.FormatInt(r.time.Unix(), 10)); err != nil {
		return err
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(r.folder, 0o755); err != nil {
		return err
	}
	if err := r.write(ctx); err != nil {
		return err
	}
	return r.writeChecksums()
}

func (r *release) write(ctx context.Context) error {
	if err := r.buildAll(ctx); err != nil {
		return err
	}
	if err := r.writeHostFiles(ctx); err != nil {
		return err
	}
	for _, p := range r.settings.Platforms {
		if err := r.describe(ctx, p); err != nil {
			return err
		}
		if err := r.writeArchive(p); err != nil {
			return err
		}
		if p.os == "linux" {
			if err := r.writePackages(p); err != nil {
				return err
			}
		}
	}
	return r.writeImages()
}

// own is the platform of this process, whose program writes completions and settings.
func own() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// built returns the platforms for which the program is built: those that are released, and this one.
func (r *release) built() []platform {
	if slices.Contains(r.settings.Platforms, own()) {
		return r.settings.Platforms
	}
	return append(slices.Clone(r.settings.Platforms), own())
}

// staged returns a file that is packed for a platform; the zero platform has what all share.
func (r *release) staged(p platform, parts ...string) string {
	name := "all"
	if p != (platform{}) {
		name = p.os + "_" + p.arch
	}
	return filepath.Join(append([]string{r.stage, name}, parts...)...)
}

// named returns the path of a file of the release: pigeon_1.2.3_linux_amd64 and ending.
func (r *release) named(p platform, ending string) string {
	return filepath.Join(r.folder, fmt.Sprintf("pigeon_%s_%s_%s%s", r.version, p.os, p.arch, ending))
}

func (r *release) sayf(format string, values ...any) { fmt.Fprintf(r.out, format+"\n", values...) }
