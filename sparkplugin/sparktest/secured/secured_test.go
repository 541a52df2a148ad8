package secured

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dev is a running "pigeon dev --secure".
type dev struct {
	Frontends []string
	TLSCA     string `json:"tls_ca"`
	TokenFile string `json:"token_file"`

	program string
	env     []string
	spark   sparktest.Spark
}

// start starts a secured dev, which ends with the test.
func start(t *testing.T) *dev {
	t.Helper()
	d := &dev{spark: sparktest.Find(t, sparktest.Line)}
	var err error
	if d.program, err = sparktest.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PIGEON_") }) // those of the tests are no settings
	d.env = append(own, "XDG_RUNTIME_DIR="+dir, "XDG_CONFIG_HOME="+dir, "SPARK_HOME="+d.spark.Dir, "SPARK_LOCAL_IP=127.0.0.1",
		"PYSPARK_PYTHON="+d.spark.Python, "PIGEON_SPARK_JAR="+d.spark.Jar)
	cmd := exec.CommandContext(t.Context(), d.program, "dev", "--secure", filepath.Join(dir, "secrets"), "--nodes", "2", "--slots", "2", "-o", "json")
	cmd.Env = d.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended by then
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, d)
	}
	if err != nil {
		t.Fatalf("dev is not ready: %v", err)
	}
	return d
}

// run runs a driver to its end.
func (d *dev) run(t *testing.T, words ...string) (stdout, all string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = d.env, &out, &errs, t.TempDir()
	err = cmd.Run()
	return strings.TrimSpace(out.String()), out.String() + errs.String(), err
}

// TestApplications: 'pigeon spark' and stock spark-submit run on a secured cluster with a token in a
// file; another cluster's token is refused with what to do. With TLS between driver and executors,
// these have the passwords of their key stores from the driver, and their command lines, which
// everybody on the machine can read, do not show them.
func TestApplications(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes minutes; leave -short out")
	}
	d := start(t)
	text, _, err := tokens.Create(filepath.Join(t.TempDir(), "tokens"), tokens.Order{User: "eve", Role: identity.Admin}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(stranger, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	small := []string{"--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m"}
	stock := func(token string) []string {
		words := append([]string{d.spark.Program("spark-submit"), "--master", "spark-pigeon://" + d.Frontends[0], "--jars", d.spark.Jar}, small...)
		return append(words, "--conf", "spark.pigeon.tls.ca="+d.TLSCA, "--conf", "spark.pigeon.token.file="+token, "--conf", "spark.executor.instances=1", script(t, "../testdata/sum.py"), "20")
	}
	tls := slices.Concat([]string{d.program, "spark", "submit", "--conf", "spark.executor.instances=2"}, small, byTLS(t), []string{script(t, "testdata/tls.py")})
	for name, c := range map[string]struct {
		words []string
		want  string
	}{
		"pigeon spark, with TLS between driver and executors": {tls, "sum 190\nshown False\ndriver TLSv1.3"},
		"spark-submit": {stock(d.TokenFile), "190"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, all, err := d.run(t, c.words...); err != nil || got != c.want {
				t.Errorf("%q, %v\n%s", got, err, all)
			}
		})
	}
	if _, all, err := d.run(t, stock(stranger)...); err == nil || !strings.Contains(all, "not known here") {
		t.Errorf("another cluster's token: %v\n%s", err, all)
	}
}

// script returns the path of a driver's program.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// byTLS returns the flags for TLS between driver and executors.
func byTLS(t *testing.T) (flags []string) {
	t.Helper()
	const password = "a-password-of-the-test"
	store := keyStore(t, password)
	for name, value := range map[string]string{"enabled": "true", "keyStore": store, "keyStorePassword": password, "trustStore": store, "trustStorePassword": password} {
		flags = append(flags, "--conf", "spark.ssl.rpc."+name+"="+value)
	}
	return flags
}

// keyStore makes a store with a key and its certificate, and returns its path.
func keyStore(t *testing.T, password string) string {
	t.Helper()
	path, keytool := filepath.Join(t.TempDir(), "keys"), "keytool"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		keytool = filepath.Join(home, "bin", keytool)
	}
	out, err := exec.CommandContext(t.Context(), keytool, "-genkeypair", "-alias", "spark", "-keyalg", "RSA", "-dname", "CN=localhost",
		"-ext", "san=ip:127.0.0.1,dns:localhost", "-storetype", "PKCS12", "-keystore", path, "-storepass", password).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
