package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

func TestWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"127.0.0.1:4222":        "127.0.0.1:4222",
		"nats://n1:4222":        "nats://n1:4222",
		"nats://u:p@n1:4222":    "nats://xxxxx@n1:4222",
		"nats://token@n1:4222":  "nats://xxxxx@n1:4222",
		"nats://u:p@q@n1:4222":  "nats://xxxxx@n1:4222",
		"a://u:p@h,b://v:q@g/x": "a://xxxxx@h,b://xxxxx@g/x",
		"http://h/path@x":       "http://h/path@x",
	} {
		if got := WithoutSecrets(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestNoPasswordIsShown: whatever the password, it is in no text and no value of an origin, nor in
// an error about the setting.
func TestNoPasswordIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := "Q" + rapid.StringMatching(`[a-z0-9%+.@:!-]{3,20}`).Draw(t, "password") + "Q"
		c := secrets{One: "nats://user:" + secret + "@host:1", Many: []string{"a:1", "nats://" + secret + "@host:2"}, Env: []string{"NAME", "KEY=" + secret}}
		_, origins, err := Load(c, Source{})
		if err != nil {
			t.Fatal(err)
		}
		c.One = strings.TrimSuffix(c.One, ":1") + ":2"
		_, _, err = Load(c, Source{})
		if text := fmt.Sprintf("%+v %v", origins, err); err == nil || strings.Contains(text, secret) || !strings.Contains(text, "KEY=xxxxx") || !strings.Contains(text, "NAME") {
			t.Fatalf("%q is in %s", secret, text)
		}
	})
}

// TestNoSecretIsShownInARefusal: of a value that is refused, nothing of a key that hides values is in
// the error, whatever it was given by, and no password of a URL.
func TestNoSecretIsShownInARefusal(t *testing.T) {
	const secret = "QsecretQ"
	for _, c := range []struct {
		name, file, env string
		flags           []string
		want            string // part of the error
	}{
		{name: "text for a list", file: `env: "API_KEY=` + secret + `"`, want: `line 1: key "env": expected a list of strings`},
		{name: "text without a name", file: "env: " + secret, want: `key "env": expected`},
		{name: "section for a list", file: "env: {API_KEY: " + secret + "}", want: `key "env": expected`},
		{name: "section in a list", file: "env: [{API_KEY: " + secret + "}]", want: "a section among them"},
		{name: "stray quote in a variable", env: `PIGEON_ENV=A=b,API_KEY=` + secret + `"x`, want: `PIGEON_ENV (key "env"): expected a comma-separated list`},
		{name: "stray quote in a flag", flags: []string{"--env", `API_KEY="` + secret}, want: "expected a comma-separated list"},
		{name: "URL for a list", file: "many: nats://user:" + secret + "@host:1", want: `with value "nats://xxxxx@host:1": expected a list`},
		{name: "long URL for a list", file: "many: nats://user:" + secret + strings.Repeat("x", 100) + "@host:1", want: `"nats://xxxxx@host:1"`},
		{name: "URL in an entry", file: "parts: [{size: nats://user:" + secret + "@host:1}]", want: `"nats://xxxxx@host:1"`},
		{name: "quote in a password", env: `PIGEON_MANY=a:1,nats://user:x"` + secret + `@host:1`, want: `PIGEON_MANY="a:1,nats://xxxxx@host:1" (key "many")`},
		{name: "quote in a password of a flag", flags: []string{"--many", `nats://user:x"` + secret + `@host:1`}, want: "nats://xxxxx@host:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := refusal(t, c.file, c.env, c.flags)
			if err == "" || strings.Contains(err, secret) || !strings.Contains(err, c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

// refusal returns why settings are refused.
func refusal(t *testing.T, file, env string, flags []string) string {
	t.Helper()
	fs := pflag.NewFlagSet("secrets", pflag.ContinueOnError)
	if err := Flags(fs, secrets{}); err != nil {
		t.Fatal(err)
	}
	if refused, ok := errors.AsType[*pflag.InvalidValueError](fs.Parse(flags)); ok {
		shown, may := RefusedFlag(refused.GetFlag(), refused.GetValue())
		if may != (refused.GetFlag().Name != "env") {
			t.Errorf("a value of --%s may be shown: %v", refused.GetFlag().Name, may)
		}
		return shown + ": " + refused.Unwrap().Error()
	}
	src := Source{Environ: []string{env}}
	if file != "" {
		src.File = writeFile(t, file)
	}
	_, _, err := Load(secrets{}, src)
	return fmt.Sprint(err)
}

type secrets struct {
	One  string   `mapstructure:"one" doc:"One."`
	Many []string `mapstructure:"many" doc:"Many."`
	Env  []string `mapstructure:"env" hide:"values" doc:"Env."`

	Parts []daemonPart `mapstructure:"parts" doc:"Parts."`
}

func (s secrets) Validate() error {
	if strings.HasSuffix(s.One, ":2") {
		return &FieldError{Key: "one", Problem: "no"}
	}
	return nil
}
