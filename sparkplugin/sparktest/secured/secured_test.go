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
	d := &dev{spark: sparktest.Find(t, "4.1")}
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
// file; another cluster's token is refused with what to do.
func TestApplications(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes minutes; leave -short out")
	}
	d := start(t)
	script, err := filepath.Abs(filepath.Join("..", "testdata", "sum.py"))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := tokens.Create(filepath.Join(t.TempDir(), "tokens"), tokens.Order{User: "eve", Role: identity.Admin}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(stranger, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	small := []string{"--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m", "--conf", "spark.executor.instances=1"}
	stock := func(token string) []string {
		words := append([]string{d.spark.Program("spark-submit"), "--master", "spark-pigeon://" + d.Frontends[0], "--jars", d.spark.Jar}, small...)
		return append(words, "--conf", "spark.pigeon.tls.ca="+d.TLSCA, "--conf", "spark.pigeon.token.file="+token, script, "20")
	}
	for name, words := range map[string][]string{
		"pigeon spark": append(append([]string{d.program, "spark", "submit"}, small...), script, "20"),
		"spark-submit": stock(d.TokenFile),
	} {
		t.Run(name, func(t *testing.T) {
			if got, all, err := d.run(t, words...); err != nil || got != "190" {
				t.Errorf("%q, %v\n%s", got, err, all)
			}
		})
	}
	if _, all, err := d.run(t, stock(stranger)...); err == nil || !strings.Contains(all, "not known here") {
		t.Errorf("another cluster's token: %v\n%s", err, all)
	}
}

// TestTLSBetweenDriverAndExecutors: executors have the passwords of their key stores from the driver,
// and their command lines, which everybody on the machine can read, do not show them.
func TestTLSBetweenDriverAndExecutors(t *testing.T) {
	if testing.Short() {
		t.Skip("a real Spark takes minutes; leave -short out")
	}
	const password = "a-password-of-the-test"
	d, store := start(t), keyStore(t, password)
	words := []string{d.program, "spark", "submit", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m", "--conf", "spark.executor.instances=2"}
	for name, value := range map[string]string{"enabled": "true", "keyStore": store, "keyStorePassword": password, "trustStore": store, "trustStorePassword": password} {
		words = append(words, "--conf", "spark.ssl.rpc."+name+"="+value)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "tls.py"))
	if err != nil {
		t.Fatal(err)
	}
	if got, all, err := d.run(t, append(words, script)...); err != nil || !strings.HasPrefix(got, "sum 190\nshown False\ndriver TLSv1.") {
		t.Errorf("%q, %v\n%s", got, err, all)
	}
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
