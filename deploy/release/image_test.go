package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// extract unpacks the regular files of a tar into a folder.
func extract(t *testing.T, file, folder string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for list := tar.NewReader(f); ; {
		h, err := list.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		text, err := io.ReadAll(list)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFile(filepath.Join(folder, filepath.FromSlash(h.Name)), text); err != nil {
			t.Fatal(err)
		}
	}
}

// checkImage checks the user of the image's containers, and their content.
func checkImage(t *testing.T, image v1.Image, p platform) {
	t.Helper()
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	if file.OS != p.os || file.Architecture != p.arch || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/usr/bin/pigeon"}) ||
		c.Labels["org.opencontainers.image.version"] != "1.2.3-rc.1" || !file.Created.Time.Equal(testTime) {
		t.Errorf("%s: %+v", p, file)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	list := contents(t, files)
	for _, want := range []string{"0755 0:0 usr/bin/pigeon", "0711 65532:65532 var/lib/pigeon/", "1777 0:0 tmp/", "0644 0:0 etc/passwd", "0644 0:0 usr/share/doc/pigeon/THIRD-PARTY-LICENSES"} {
		if !slices.Contains(list, want) {
			t.Errorf("%s lacks %q: %q", p, want, list)
		}
	}
}

func TestImages(t *testing.T) {
	r := staged(t, amd64, arm64)
	if err := r.writeImages(); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.settings.Platforms {
		image, err := tarball.ImageFromPath(r.named(p, "_image.tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, p)
	}
	folder := t.TempDir()
	extract(t, filepath.Join(r.folder, "pigeon_1.2.3-rc.1_image_oci.tar"), folder)
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3-rc.1" {
		t.Fatalf("%+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 2 {
		t.Fatalf("%+v, %v", inner, err)
	}
	for i, d := range inner.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil || d.Platform == nil || d.Platform.Architecture != r.settings.Platforms[i].arch {
			t.Fatalf("%+v, %v", d, err)
		}
		checkImage(t, image, r.settings.Platforms[i])
	}
}

// Two runs give the same bytes.
func TestImagesAreReproducible(t *testing.T) {
	var files [2][]byte
	for i := range files {
		r := staged(t, amd64)
		if err := r.writeImages(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.folder, "pigeon_1.2.3-rc.1_image_oci.tar"))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = text
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two images of the same files differ")
	}
}
