// Package check renders the chart of deploy/helm and checks its objects against the types of
// Kubernetes.
package check

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// render returns the objects of the chart with the values, as YAML documents.
func render(t *testing.T, values map[string]any) (documents []string) {
	t.Helper()
	c, err := loader.Load("../helm")
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "p", Namespace: "default"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for document := range strings.SplitSeq("\n"+text, "\n---\n") {
			if len(bytes.TrimSpace([]byte(document))) > 0 && strings.Contains(document, "kind:") {
				documents = append(documents, document)
			}
		}
	}
	return documents
}

// Every object has the keys of its kind and no other, with standbys and without, with tokens and
// without.
func TestObjects(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"defaults": {},
		"small":    {"masters": 1, "frontends": 1},
		"more":     {"masters": 3, "tokens": "t", "storageClass": "fast", "nodeSelector": map[string]any{"a": "b"}, "clients": map[string]any{"team": "x"}},
	} {
		kinds := map[string]int{}
		for _, document := range render(t, values) {
			var head struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			kinds[head.Kind]++
			into := map[string]any{
				"StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{}, "Service": &corev1.Service{},
				"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
			}[head.Kind]
			if into == nil {
				t.Errorf("%s: an object of kind %q", name, head.Kind)
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
			if s, ok := into.(*appsv1.StatefulSet); ok {
				selects(t, s)
			}
		}
		if kinds["StatefulSet"] != 3 || kinds["DaemonSet"] != 1 || kinds["Service"] != 3 || kinds["PodDisruptionBudget"] != 3 || kinds["NetworkPolicy"] != 4 {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

// selects checks that a set selects its own pods, and that what is mounted is there.
func selects(t *testing.T, s *appsv1.StatefulSet) {
	t.Helper()
	for key, value := range s.Spec.Selector.MatchLabels {
		if s.Spec.Template.Labels[key] != value {
			t.Errorf("%s selects %s=%s, which its pods are not", s.Name, key, value)
		}
	}
	there := map[string]bool{}
	for _, v := range s.Spec.Template.Spec.Volumes {
		there[v.Name] = true
	}
	for _, v := range s.Spec.VolumeClaimTemplates {
		there[v.Name] = true
	}
	for _, c := range s.Spec.Template.Spec.Containers {
		if c.ReadinessProbe == nil || c.LivenessProbe == nil {
			t.Errorf("%s has no probes", s.Name)
		}
		for _, m := range c.VolumeMounts {
			if !there[m.Name] {
				t.Errorf("%s mounts %s, which it has not", s.Name, m.Name)
			}
		}
	}
}

// No daemon keeps its files in the root of a volume. That belongs to root and to the pod's group, and a
// daemon refuses a folder of another user; below the root it makes a folder of its own.
func TestFoldersOfDaemons(t *testing.T) {
	folders := 0
	for _, document := range render(t, nil) {
		var set struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if !strings.Contains(document, "kind: StatefulSet") && !strings.Contains(document, "kind: DaemonSet") {
			continue
		}
		if err := yaml.Unmarshal([]byte(document), &set); err != nil {
			t.Fatal(err)
		}
		for _, c := range set.Spec.Template.Spec.Containers {
			for _, argument := range c.Args {
				flag, folder, _ := strings.Cut(argument, "=")
				if flag != "--data" && flag != "--store-dir" && flag != "--work-dir" {
					continue
				}
				folders++
				if !strings.HasPrefix(folder, "/data/") {
					t.Errorf("%s: its folder %s is not below the volume /data", c.Name, argument)
				}
			}
		}
	}
	if folders != 3 {
		t.Errorf("%d daemons have a folder, want nats, frontend and nodemonitor", folders)
	}
}

// Node monitors run as a user who cannot start processes of others, so that they run every task as
// themselves.
func TestTasksRunAsTheNodeMonitor(t *testing.T) {
	for _, document := range render(t, nil) {
		var set appsv1.DaemonSet
		if !strings.Contains(document, "kind: DaemonSet") {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), &set); err != nil {
			t.Fatal(err)
		}
		c := set.Spec.Template.Spec.Containers[0]
		if asRoot := c.SecurityContext.RunAsNonRoot == nil || !*c.SecurityContext.RunAsNonRoot; !asRoot && !slices.Contains(c.Args, "--run-as=daemon") {
			t.Errorf("it cannot run tasks as their submitters, and has no --run-as=daemon: %q", c.Args)
		}
		return
	}
	t.Error("no DaemonSet")
}

// Pods of other namespaces reach no port, unless the values name labels of their namespaces.
func TestClientsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		clients map[string]any
		peers   int // of other namespaces
	}{"defaults": {nil, 0}, "a team": {map[string]any{"team": "x"}, 1}} {
		policies, peers := 0, 0
		for _, document := range render(t, map[string]any{"clients": c.clients}) {
			var policy networkingv1.NetworkPolicy
			if !strings.Contains(document, "kind: NetworkPolicy") {
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), &policy); err != nil {
				t.Fatal(err)
			}
			policies++
			for _, rule := range policy.Spec.Ingress {
				for _, peer := range rule.From {
					if peer.NamespaceSelector == nil {
						continue
					}
					if peers++; len(peer.NamespaceSelector.MatchLabels) == 0 {
						t.Errorf("%s: %s admits the pods of all namespaces", name, policy.Name)
					}
				}
			}
		}
		if policies != 4 || peers != c.peers {
			t.Errorf("%s: %d policies, and %d rules for other namespaces", name, policies, peers)
		}
	}
}
