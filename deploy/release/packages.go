package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers its format
)

// packageFormats are those of the packages of each Linux platform.
var packageFormats = []string{"deb", "rpm"}

// packagesFile describes the packages, below the root of the repository.
const packagesFile = "packaging/nfpm.yaml"

// writePackages writes the packages of a platform.
func (r *release) writePackages(p platform) error {
	config, err := r.packageConfig(p)
	if err != nil {
		return err
	}
	for _, format := range packageFormats {
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		if err := r.fix(info); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		name := r.named(p, "."+format)
		info.Target = name
		r.sayf("packing %s", filepath.Base(name))
		if err := create(name, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// packageConfig reads the description of the packages of a platform.
func (r *release) packageConfig(p platform) (config nfpm.Config, err error) {
	f, err := os.Open(filepath.Join(r.source, packagesFile))
	if err != nil {
		return config, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	values := map[string]string{"VERSION": r.version, "ARCH": p.arch, "STAGE": r.staged(p), "SHARED": r.staged(platform{})}
	config, err = nfpm.ParseWithEnvMapping(f, func(name string) string { return values[name] })
	if err != nil {
		return config, fmt.Errorf("%s: %w", packagesFile, err)
	}
	return config, nil
}

// fix gives every file of a package the time of the commit, names the files of a folder one by one,
// and reads files with a relative path from the clone.
func (r *release) fix(info *nfpm.Info) error {
	*info = *nfpm.WithDefaults(info)
	info.MTime, info.DisableGlobbing = r.time, true
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = r.inSource(*script)
	}
	var contents files.Contents
	for _, c := range info.Contents {
		c.Source = r.inSource(c.Source)
		c.FileInfo.MTime = r.time
		if !strings.HasSuffix(c.Destination, "/") {
			contents = append(contents, c)
			continue
		}
		inside, err := os.ReadDir(c.Source)
		if err != nil {
			return err
		}
		for _, d := range inside {
			one, about := *c, *c.FileInfo
			one.Source, one.Destination, one.FileInfo = filepath.Join(c.Source, d.Name()), path.Join(c.Destination, d.Name()), &about
			contents = append(contents, &one)
		}
	}
	info.Contents = contents
	return nil
}

func (r *release) inSource(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.source, name)
}
