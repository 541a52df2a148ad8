package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// writeImages writes the image of each Linux platform as docker loads it, and all of them together
// as an OCI layout in one file.
func (r *release) writeImages() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.settings.Platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.image(p)
		if err != nil {
			return fmt.Errorf("image of %s: %w", p, err)
		}
		if err := r.writeDockerArchive(p, image); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	return r.writeLayout(index)
}

// image returns the image of a platform: the program, a user, and folders; no shell.
func (r *release) image(p platform) (v1.Image, error) {
	var files bytes.Buffer
	if err := writeTar(&files, r.imageFiles(p), r.time); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release VERSION=" + r.version},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = p.os, p.arch, v1.Time{Time: r.time}
	file.Config = r.imageConfig()
	return mutate.ConfigFile(image, file)
}

func (r *release) imageConfig() v1.Config {
	s := r.settings.Image
	user := strconv.Itoa(s.User)
	return v1.Config{
		User: user + ":" + user, Entrypoint: []string{"/usr/bin/pigeon"}, Cmd: []string{"help"}, WorkingDir: "/var/lib/pigeon",
		Env: []string{"PATH=/usr/bin", "HOME=/var/lib/pigeon"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       s.Title,
			"org.opencontainers.image.description": s.Description,
			"org.opencontainers.image.source":      s.Source,
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.revision":    r.commit,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
}

func (r *release) imageFiles(p platform) []entry {
	user := r.settings.Image.User
	doc := func(name, file string) entry {
		return entry{name: "usr/share/doc/pigeon/" + name, mode: 0o644, file: file}
	}
	return []entry{
		{name: "usr/bin/pigeon", mode: 0o755, file: r.staged(p, "pigeon")},
		{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\npigeon:x:%[1]d:%[1]d:Pigeon scheduler:/var/lib/pigeon:/sbin/nologin\n", user)},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:\npigeon:x:%d:\n", user)},
		{name: "etc/pigeon", mode: 0o755, dir: true},
		{name: "tmp", mode: 0o1777, dir: true},
		{name: "var/lib/pigeon", mode: 0o711, owner: user, dir: true},
		doc("LICENSE", filepath.Join(r.source, "LICENSE")),
		doc("THIRD-PARTY-LICENSES", r.staged(p, "THIRD-PARTY-LICENSES")),
		doc("pigeon.cdx.json", r.staged(p, "pigeon.cdx.json")),
	}
}

func (r *release) writeDockerArchive(p platform, image v1.Image) error {
	tag, err := name.NewTag(r.settings.Image.Name + ":" + r.version)
	if err != nil {
		return err
	}
	return create(r.named(p, "_image.tar"), func(w io.Writer) error { return tarball.Write(tag, image, w) })
}

// writeLayout writes the OCI layout as one file, which podman and skopeo call oci-archive.
func (r *release) writeLayout(index v1.ImageIndex) error {
	folder := r.staged(platform{}, "layout")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	written, err := path.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(written); err != nil {
		return fmt.Errorf("the images are not valid: %w", err)
	}
	entries, err := folderEntries(folder, "", 0o644)
	if err != nil {
		return err
	}
	file := filepath.Join(r.folder, fmt.Sprintf("pigeon_%s_image_oci.tar", r.version))
	return create(file, func(w io.Writer) error { return writeTar(w, entries, r.time) })
}
