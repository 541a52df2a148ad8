package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// settingsFile is where [settings] stand, below the root of the repository.
const settingsFile = "packaging/release.yaml"

// settings are what is released.
type settings struct {
	Platforms []platform          `yaml:"-"`
	Named     []string            `yaml:"platforms"`
	Settings  map[string][]string `yaml:"settings"` // flags of "pigeon config write", by role
	Image     imageSettings       `yaml:"image"`
	Licenses  []string            `yaml:"licenses"`
	Decided   []decision          `yaml:"decided"`
}

type imageSettings struct {
	Name        string `yaml:"name"`
	User        int    `yaml:"user"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	Source      string `yaml:"source"`
}

// decision has the licences of a module whose files a program cannot identify with certainty.
type decision struct {
	Module   string   `yaml:"module"` // path@version
	Licenses []string `yaml:"licenses"`
	Files    []string `yaml:"files"` // further ones of the module that state them
	Why      string   `yaml:"why"`
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func parsePlatforms(names []string) (list []platform, err error) {
	for _, name := range names {
		system, arch, ok := strings.Cut(strings.TrimSpace(name), "/")
		if !ok || system == "" || arch == "" {
			return nil, fmt.Errorf("platform %q is not of the form linux/amd64", name)
		}
		list = append(list, platform{system, arch})
	}
	return list, nil
}

func readSettings(path string) (s settings, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	for _, d := range s.Decided {
		if d.Module == "" || len(d.Licenses) == 0 || d.Why == "" {
			return s, fmt.Errorf("%s: a decided licence needs module, licenses and why; %+v has not all", path, d)
		}
	}
	s.Platforms, err = parsePlatforms(s.Named)
	return s, err
}
