package daemon

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Settings are the settings that all daemons have. A daemon's configuration embeds them,
// and its Validate checks them with its own.
type Settings struct {
	Cluster          string `mapstructure:"cluster" common:"yes" doc:"name that keeps the NATS subjects of several clusters apart"`
	HTTP             string `mapstructure:"http" common:"yes" doc:"host:port of /metrics, /healthz, /readyz and /status; port 0 takes a free one, empty switches it off"`
	Advertise        string `mapstructure:"advertise" common:"yes" doc:"host that other daemons and clients are told for this daemon, as their settings name it; empty: the host of the address at which it listens, or, where that is every address (0.0.0.0), this host's address on the way to the masters or to NATS"`
	NATS             string `mapstructure:"nats" common:"yes" doc:"URL of the NATS server that carries notices, or several of one cluster with commas between them; empty: none, everything is then sent by Thrift"`
	NATSAccess       `mapstructure:",squash"`
	SecuritySettings `mapstructure:",squash"`
	StatusSettings   `mapstructure:",squash"`
	Policy           string        `mapstructure:"policy" common:"yes" doc:"scheduling policy, NAME[:key=value,...]; the same in all daemons of a cluster"`
	Cutoff           time.Duration `mapstructure:"cutoff" common:"yes" doc:"an estimated mean task duration up to this makes a job short; the same in all daemons"`
	Reserved         float64       `mapstructure:"reserved" common:"yes" doc:"share of the workers that take short tasks only, from 0 to below 1; the same in all daemons. A group reserves round(share x slots)"`
	Limits           string        `mapstructure:"limits" common:"yes" doc:"size of the cluster, by which the settings that bound what this daemon holds have their defaults: small (one machine, or a few), medium, or large (thousands of slots); each can be set by its own name, too (docs/limits.md)"`
	Seed             uint64        `mapstructure:"seed" doc:"seed of the policy's random draws"`
	OTLP             string        `mapstructure:"otlp" common:"yes" doc:"host:port of an OTLP receiver (gRPC) for traces; empty: no traces"`
	Record           string        `mapstructure:"record" doc:"folder for a recording of every input and action of the cores; empty: none"`
}

// DefaultSettings returns the settings of a daemon on one machine.
func DefaultSettings() Settings {
	return Settings{Cluster: "pigeon", HTTP: "127.0.0.1:0", SecuritySettings: DefaultSecuritySettings(), Policy: "pigeon-x", Cutoff: time.Second, Reserved: 0.1, Limits: config.Medium, Seed: 1}
}

// Configure returns the policy of the settings and its parameters. weight is the master's
// setting; the other daemons pass 0.
func (s Settings) Configure(weight int) (sched.Policy, sched.Params, error) {
	return policy.Configure(s.Policy, sched.Params{Cutoff: sched.Time(s.Cutoff), Reserved: s.Reserved, Weight: weight})
}

// Rule is what a setting must satisfy.
type Rule struct {
	key     string
	broken  bool
	problem string
}

// Refuse returns a rule; problem describes what would be right.
func Refuse(key string, broken bool, problem string) Rule { return Rule{key, broken, problem} }

// Rules returns the rules of the common settings. policyFault is why the daemon cannot run
// the policy, "" when it can.
func (s Settings) Rules(policyFault string) []Rule {
	return append(s.SecuritySettings.Rules(),
		Refuse("cluster", !IsName(s.Cluster), NameRule),
		Refuse("http", s.HTTP != "" && !IsAddress(s.HTTP), "give host:port, or nothing to switch it off"),
		Refuse("advertise", s.advertiseFault() != "", s.advertiseFault()),
		Refuse("limits", s.Limits != "" && !config.IsSize(s.Limits), "use small, medium or large"),
		Refuse("cutoff", s.Cutoff <= 0, "use a duration above zero"),
		Refuse("reserved", !(s.Reserved >= 0 && s.Reserved < 1), "use a share from 0 to below 1"),
		Refuse("policy", policyFault != "", policyFault),
		Refuse("otlp", s.OTLP != "" && !isReceiver(s.OTLP), "give host:port, such as 127.0.0.1:4317, without http:// or a path"),
		Refuse("nats_cert", (s.NATSCert == "") != (s.NATSKey == ""), "give nats_cert and nats_key, or neither"),
		s.Closed("http", s.HTTP),
	)
}

// Check returns the first broken rule as a *config.FieldError.
func Check(rules ...Rule) error {
	for _, r := range rules {
		if r.broken {
			return &config.FieldError{Key: r.key, Problem: r.problem}
		}
	}
	return nil
}

var nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsName reports whether s can be part of a NATS subject and of a file's name.
func IsName(s string) bool { return nameShape.MatchString(s) }

// NameRule describes the names that IsName accepts.
const NameRule = "use 1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first"

// IsAddress reports whether s is host:port.
func IsAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

// isReceiver reports whether s can be the address of a receiver of spans. The exporter takes any
// text, and reports one that leads nowhere only by spans that it does not send.
func isReceiver(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, wrong := strconv.ParseUint(port, 10, 16)
	return err == nil && wrong == nil && n > 0 && !strings.ContainsAny(host, "/ ")
}
