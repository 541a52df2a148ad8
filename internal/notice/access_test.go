package notice

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"nats://127.0.0.1:4222":              "nats://127.0.0.1:4222",
		"nats://u:p@h:1,tls://token@g:2":     "nats://***@h:1,tls://***@g:2",
		"nats://u:p/@x@h:1, nats://u:p@g":    "nats://***@h:1, nats://***@g",
		"u:p@h:1":                            "***@h:1",
		"":                                   "",
		"nats://h1:4222,nats://h2:4222,h3:1": "nats://h1:4222,nats://h2:4222,h3:1",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Secrets in a URL are in no error and no line of the log.
func TestSecretsStaySecret(t *testing.T) {
	for _, url := range []string{"nats://ann:hush%@h:1", "nats://hush@no port", "nats://127.0.0.1:1,nats://ann:hush@127.0.0.1:2"} {
		var log strings.Builder
		c, err := Connect(Options{Access: Access{URL: url}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var said string
		if err != nil {
			said = err.Error()
		} else {
			said = c.Publish("s", nil).Error()
			must(t, c.Close()) // it writes no more to the log
		}
		said += log.String()
		if said == "" || strings.Contains(said, "hush") {
			t.Errorf("%s: %s", url, said)
		}
	}
}

// The log of a daemon whose NATS server refuses it says that, and not only that no server is
// reached.
func TestTheLogNamesARefusal(t *testing.T) {
	e, err := startEmbedded("127.0.0.1:0", "another")
	must(t, err)
	defer e.Close()
	_, address, _ := strings.Cut(e.URL(), "@")
	said := make(lines, 100)
	c, err := Connect(Options{Access: Access{URL: "nats://hush@" + address}, Log: slog.New(slog.NewTextHandler(said, nil))})
	must(t, err)
	defer c.Close()
	select {
	case line := <-said:
		if !strings.Contains(strings.ToLower(line), "authorization violation") || !strings.Contains(line, address) || strings.Contains(line, "hush") {
			t.Errorf("the log says %q, want the refusal and the address", line)
		}
	case <-time.After(long):
		t.Error("the log says nothing")
	}
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
