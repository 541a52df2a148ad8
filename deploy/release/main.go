package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version without v: 1.2.3, or 1.3.0-rc.1")
	folder := flags.String("out", "out/release", "folder for the files, which is made anew")
	commit := flags.String("commit", "HEAD", "commit that is released")
	only := flags.String("platforms", "", "platforms instead of those of packaging/release.yaml: linux/amd64,linux/arm64")
	check := flags.Bool("licenses", false, "list the licences of what is in the program, and nothing else")
	root := flags.String("root", "../..", "folder of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	s, err := readSettings(filepath.Join(*root, settingsFile))
	if err != nil {
		return err
	}
	if *only != "" {
		if s.Platforms, err = parsePlatforms(strings.Split(*only, ",")); err != nil {
			return err
		}
	}
	if *check {
		return listLicenses(ctx, *root, s, out)
	}
	if *version == "" {
		return errors.New("give -version (make release VERSION=1.2.3)")
	}
	r := &release{settings: s, root: *root, folder: *folder, out: out}
	return r.make(ctx, *version, *commit)
}
