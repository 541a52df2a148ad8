package connect

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommittedConfiguration: configs/ROLE.yaml is what "config write" prints.
func TestCommittedConfiguration(t *testing.T) {
	for _, r := range Roles() {
		var want bytes.Buffer
		if err := r.Write(&want, config.Source{}, false); err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		path := filepath.Join("..", "..", "..", "configs", r.Name+".yaml")
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not current; run 'make configs'", path)
		}
	}
}

// testConfig takes the place of a daemon's configuration.
type testConfig struct {
	Listen string        `mapstructure:"listen" doc:"Address, host:port."`
	Wait   time.Duration `mapstructure:"wait" doc:"Patience, a duration."`
}

func TestLoadConfig(t *testing.T) {
	defaults := testConfig{Listen: "127.0.0.1:1"}
	cmd := &cobra.Command{Use: "lorry"}
	AddConfigFlags(cmd, func(fs *pflag.FlagSet) error { return config.Flags(fs, defaults) })
	if err := cmd.ParseFlags([]string{"--wait", "7s"}); err != nil {
		t.Fatal(err)
	}
	if cfg, _, err := LoadConfig(cmd, defaults); err != nil || cfg.Wait != 7*time.Second || cfg.Listen != "127.0.0.1:1" {
		t.Errorf("%+v, %v", cfg, err)
	}
	t.Setenv(fileVariable, "absent.yaml")
	if _, _, err := LoadConfig(cmd, defaults); !errors.Is(err, os.ErrNotExist) || !errors.As(err, new(cli.UsageError)) {
		t.Errorf("got %v", err)
	}
}

// The user's own file of settings comes before that of the machine.
func TestFirstSettings(t *testing.T) {
	own, host := filepath.Join(t.TempDir(), "pigeon", "client.yaml"), filepath.Join(t.TempDir(), "client.yaml")
	for _, want := range []string{"", host, own} {
		if want != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(want), 0o700), os.WriteFile(want, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := firstSettings([]string{own, host}); err != nil || got != want {
			t.Errorf("found %q, %v, want %q", got, err, want)
		}
	}
	if got, err := firstSettings([]string{filepath.Join(own, "no folder"), host}); err == nil {
		t.Errorf("a path that cannot be looked at led to %q", got)
	}
}
