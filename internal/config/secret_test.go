package config

import (
	"fmt"
	"strings"
	"testing"

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

type secrets struct {
	One  string   `mapstructure:"one" doc:"One."`
	Many []string `mapstructure:"many" doc:"Many."`
	Env  []string `mapstructure:"env" hide:"values" doc:"Env."`
}

func (s secrets) Validate() error {
	if strings.HasSuffix(s.One, ":2") {
		return &FieldError{Key: "one", Problem: "no"}
	}
	return nil
}
