package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is a Kubernetes document.
type object = map[string]any

// at returns the value at a path in an object, or nil. A number is an index.
func at(o any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := o.(object)
			o = m[step]
		case int:
			list, _ := o.([]any)
			if step >= len(list) {
				return nil
			}
			o = list[step]
		}
	}
	return o
}

// objectsOf reads documents, by kind and name.
func objectsOf(t *testing.T, from string, text []byte, into map[string]object) {
	t.Helper()
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v\n%s", from, err, text)
		}
		if o == nil {
			continue
		}
		key := fmt.Sprint(o["kind"], " ", at(o, "metadata", "name"))
		if into[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		into[key] = o
	}
}

// kubernetes is a cluster that already has the given number of hosts.
type kubernetes struct {
	dynamic.NamespaceableResourceInterface
	hosts int64
}

// GetClientFor implements engine.ClientProvider.
func (k kubernetes) GetClientFor(string, string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return k, true, nil
}

func (k kubernetes) Namespace(string) dynamic.ResourceInterface { return k }

func (k kubernetes) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured,
	error,
) {
	return &unstructured.Unstructured{Object: object{
		"kind": "StatefulSet", "metadata": object{"name": name}, "spec": object{"replicas": k.hosts},
	}}, nil
}

// render renders the chart with values: for an installation if hosts is 0, else for an upgrade of an existing cluster.
func render(t *testing.T, values string, hosts int64) (objects map[string]object, notes string, err error) {
	t.Helper()
	c, err := loader.LoadDir(filepath.Join("..", "chart"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{
		Name: "signalbox", Namespace: "signalbox", IsInstall: hosts == 0, IsUpgrade: hosts > 0,
	}, nil)
	if err != nil {
		return nil, "", err // the values do not match the schema
	}
	files, err := engine.RenderWithClientProvider(c, all, kubernetes{hosts: hosts})
	if err != nil {
		return nil, "", err
	}
	objects = make(map[string]object)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		strict(t, name, files[name])
		objectsOf(t, name, []byte(files[name]), objects)
	}
	return objects, notes, nil
}

// strict decodes documents as Kubernetes does: unknown fields and values with the wrong type are errors. Kinds of
// operators are unknown to client-go.
func strict(t *testing.T, from, text string) {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(document) == "" || strings.Contains(document, "apiVersion: monitoring.coreos.com/") ||
			strings.Contains(document, "apiVersion: cert-manager.io/") {
			continue
		}
		if _, _, err := decoder.Decode([]byte(document), nil, nil); err != nil {
			t.Errorf("%s: %v\n%s", from, err, document)
		}
	}
}

// comparable removes the necessary differences between a chart and manifests: the labels and annotations that helm
// uses, and the variable order.
func comparable(o object) object {
	metadata := at(o, "metadata").(object)
	delete(metadata, "labels")
	delete(metadata, "annotations")
	var visit func(value any) any
	visit = func(value any) any {
		switch value := value.(type) {
		case object:
			for key, below := range value {
				value[key] = visit(below)
			}
			if list, is := value["env"].([]any); is {
				byName := make(object)
				for _, e := range list {
					byName[fmt.Sprint(at(e, "name"))] = e
				}
				value["env"] = byName
			}
		case []any:
			for i := range value {
				value[i] = visit(value[i])
			}
		}
		return value
	}
	return visit(o).(object)
}

// TestTheChartMakesWhatTheManifestsHave: with default values the chart equals the manifests in deploy/kubernetes. Other
// tests load the manifests' settings, ports and commands, and start hosts from the settings.
func TestTheChartMakesWhatTheManifestsHave(t *testing.T) {
	want := make(map[string]object)
	for _, file := range []string{"signalbox.yaml", "init.yaml", "backup.yaml", "ydb.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "kubernetes", file))
		if err != nil {
			t.Fatal(err)
		}
		objectsOf(t, file, text, want)
	}
	delete(want, "Namespace signalbox") // helm makes it
	got, notes, err := render(t, "{backup: {enabled: true}, ydb: {enabled: true}}", 0)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Errorf("the chart makes %v, and the manifests are %v", g, w)
	}
	for name := range want {
		if got[name] == nil {
			continue
		}
		g, w := comparable(got[name]), comparable(want[name])
		if !reflect.DeepEqual(g, w) {
			gText, _ := yaml.Marshal(g)
			wText, _ := yaml.Marshal(w)
			t.Errorf("%s: the chart makes\n%s\nand the manifest is\n%s", name, gText, wText)
		}
	}
	for _, name := range []string{"signalbox-2", "signalbox-2.signalbox.signalbox.svc",
		"signalbox-http.signalbox.svc"} {
		if !strings.Contains(notes, "\n  "+name+"\n") {
			t.Errorf("the notes do not say that the certificate has %s:\n%s", name, notes)
		}
	}
}

// TestTheChartMakesAClusterOnce: only install hooks bootstrap the cluster, and no helm command deletes the volume.
func TestTheChartMakesAClusterOnce(t *testing.T) {
	first, _, err := render(t, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	claim, job := first["PersistentVolumeClaim data-signalbox-0"], first["Job signalbox-init"]
	for _, o := range []object{claim, job} {
		if hook := at(o, "metadata", "annotations", "helm.sh/hook"); hook != "pre-install" {
			t.Errorf("%v is made by the hook %v", at(o, "metadata", "name"), hook)
		}
	}
	policy := fmt.Sprint(at(claim, "metadata", "annotations", "helm.sh/hook-delete-policy"))
	if policy != "hook-failed" {
		t.Errorf("the volume is deleted by the policy %s: without one it would be before it is made again", policy)
	}
	for values, hosts := range map[string]int64{"init: {enabled: false}": 0, "": 3} {
		later, _, err := render(t, values, hosts)
		if err != nil {
			t.Fatal(err)
		}
		if later["Job signalbox-init"] != nil || later["PersistentVolumeClaim data-signalbox-0"] != nil {
			t.Errorf("with %q, where there are %d hosts, a cluster is made again", values, hosts)
		}
	}
}

// TestFewerHostsLeaveFirst: each removed host is drained and expelled before its pod is deleted, the highest ordinal
// first. Helm continues once the remaining hosts tolerate the removal.
func TestFewerHostsLeaveFirst(t *testing.T) {
	objects, _, err := render(t, "replicas: 3", 5)
	if err != nil {
		t.Fatal(err)
	}
	job := objects["Job signalbox-scale-down"]
	if hook := at(job, "metadata", "annotations", "helm.sh/hook"); hook != "pre-upgrade" {
		t.Fatalf("hosts leave by the hook %v", hook)
	}
	pod := at(job, "spec", "template", "spec")
	var steps []string
	for _, c := range slices.Concat(at(pod, "initContainers").([]any), at(pod, "containers").([]any)) {
		args := at(c, "args").([]any)
		steps = append(steps, fmt.Sprintln(args...))
		if !slices.Contains(args, any("--wait")) ||
			!slices.Contains(args, any("--token-file=/etc/signalbox/tokens/operator")) {
			t.Errorf("%v", args)
		}
	}
	for i, want := range []string{"host drain signalbox-4 ", "host expel signalbox-4 ", "host drain signalbox-3 ",
		"host expel signalbox-3 ", "cluster why "} {
		if i >= len(steps) || !strings.HasPrefix(steps[i], want) {
			t.Errorf("step %d is to be %q: %q", i, want, steps)
		}
	}
	for values, hosts := range map[string]int64{"replicas: 5": 3, "replicas: 3": 3} {
		objects, _, err := render(t, values, hosts)
		if err != nil || objects["Job signalbox-scale-down"] != nil {
			t.Errorf("with %s hosts leave where there are %d: %v", values, hosts, err)
		}
	}
}

// TestWhatValuesChange: each value has the effect that the values file documents.
func TestWhatValuesChange(t *testing.T) {
	objects, _, err := render(t, `
replicas: 5
http: {enabled: false}
metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}}
settings: {SIGNALBOX_SHARDS: 2}
image: {repository: registry.example/signalbox, tag: 1.2.3, pullPolicy: Always, pullSecrets: [{name: registry}]}
storage: {className: fast}
terminationGracePeriodSeconds: 90
nodeSelector: {disk: fast}
tolerations: [{operator: Exists}]
priorityClassName: high
podAnnotations: {a: b}
tls: {secret: other}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	set, monitor := objects["StatefulSet signalbox"], objects["ServiceMonitor signalbox"]
	pod := at(set, "spec", "template", "spec")
	text, _ := yaml.Marshal(objects)
	for _, c := range []struct{ got, want any }{
		{at(set, "spec", "replicas"), 5},
		{objects["Service signalbox-http"] == nil, true},
		{strings.Contains(string(text), "7424"), false},
		{at(monitor, "metadata", "labels", "release"), "prometheus"},
		{at(monitor, "spec", "endpoints", 0, "relabelings", 0, "replacement"), "signalbox"},
		{strings.Count(string(text), "SIGNALBOX_SHARDS"), 2}, // in the bootstrap job, and in the hosts
		{at(pod, "containers", 0, "image"), "registry.example/signalbox:1.2.3"},
		{at(pod, "containers", 0, "imagePullPolicy"), "Always"},
		{at(pod, "imagePullSecrets", 0, "name"), "registry"},
		{at(set, "spec", "volumeClaimTemplates", 0, "spec", "storageClassName"), "fast"},
		{at(objects["PersistentVolumeClaim data-signalbox-0"], "spec", "storageClassName"), "fast"},
		{at(pod, "containers", 0, "lifecycle", "preStop", "exec", "command", 3), "--wait-timeout=75s"},
		{at(pod, "nodeSelector", "disk"), "fast"},
		{at(pod, "tolerations", 0, "operator"), "Exists"},
		{at(pod, "priorityClassName"), "high"},
		{at(set, "spec", "template", "metadata", "annotations", "a"), "b"},
		{at(pod, "volumes", 0, "secret", "secretName"), "other"},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v\n%s", c.got, c.want, text)
		}
	}
}

// TestTheSchemaRefusesMistakes: Helm refuses unknown values, values with the wrong type and impossible values.
func TestTheSchemaRefusesMistakes(t *testing.T) {
	for _, wrong := range []string{
		"replicas: 4", "replicas: 11", `replicas: "3"`, "terminationGracePeriodSeconds: 10", "replica: 3",
		"image: {digest: sha256:0}", "image: {pullPolicy: Sometimes}", "fullnameOverride: a.b", "fullnameOverride: A",
		"http: {service: {type: ExternalName}}", "http: {ingress: {enabled: true}}", "settings: {LOG_LEVEL: debug}",
		"podLabels: {app: x}", "podAnnotations: {a: 1}", "backup: {keep: 0}", "ydb: {replicas: 0}", "tls: {secret: ''}",
		"tls: {certManager: {issuerRef: {name: null}}}",
	} {
		if _, _, err := render(t, wrong, 0); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
	// The schema and the values file have the same values.
	text, err := os.ReadFile(filepath.Join("..", "chart", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	var collect func(prefix string, of any)
	collect = func(prefix string, of any) {
		if name, is := at(of, "$ref").(string); is {
			of = at(schema, "definitions", strings.TrimPrefix(name, "#/definitions/"))
		}
		below, _ := at(of, "properties").(object)
		for name, of := range below {
			known[prefix+name] = true
			collect(prefix+name+".", of)
		}
	}
	collect("", schema)
	for name := range known {
		if name != "global" && !valuesOfChart(t)[name] {
			t.Errorf("the schema has the value %s, which is not in the values file", name)
		}
	}
	for name := range valuesOfChart(t) {
		parent, _, _ := strings.Cut(name, ".")
		if !known[name] && (!strings.Contains(name, ".") || !known[parent]) {
			t.Errorf("the schema does not have the value %s", name)
		}
	}
}

// everything are values that switch on all options.
const everything = `
fullnameOverride: other
image: {digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123"}
tls: {certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: authority}}}
http:
  service: {type: LoadBalancer, annotations: {a: http}}
  ingress:
    enabled: true
    className: nginx
    annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}
    hosts: [locks.example.com]
    tls: [{secretName: locks, hosts: [locks.example.com]}]
metrics:
  serviceMonitor: {enabled: true}
  prometheusRule: {enabled: true, labels: {release: prometheus}}
  dashboard: {enabled: true}
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: []}]}}}
podLabels: {team: infra}
extraVolumes: [{name: more, secret: {secretName: more}}]
extraVolumeMounts: [{name: more, mountPath: /etc/more}]
backup: {enabled: true}
ydb: {enabled: true, service: {type: NodePort, annotations: {a: ydb}}, image: {tag: "9"}}
`

// TestWhatOptionsAdd: each option adds what the values file documents.
func TestWhatOptionsAdd(t *testing.T) {
	objects, notes, err := render(t, everything, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name := range objects {
		if _, name, _ := strings.Cut(name, " "); !strings.HasPrefix(strings.TrimPrefix(name, "data-"), "other") {
			t.Errorf("the name of %s does not start with that of the hosts", name)
		}
	}
	if strings.Contains(notes, "signalbox-0") || !strings.Contains(notes, "other-0.other.signalbox.svc") {
		t.Errorf("the notes have other names:\n%s", notes)
	}
	set, http := objects["StatefulSet other"], objects["Service other-http"]
	pod, init := at(set, "spec", "template", "spec"), at(objects["Job other-init"], "spec", "template", "spec")
	ingress, certificate := objects["Ingress other-http"], objects["Certificate other"]
	gateway := objects["Deployment other-ydb"]
	text, _ := yaml.Marshal(objects)
	var allowed any
	for _, e := range at(pod, "containers", 0, "env").([]any) {
		if at(e, "name") == "SIGNALBOX_HTTP_ALLOWED_HOSTS" {
			allowed = at(e, "value")
		}
	}
	names, _ := at(certificate, "spec", "dnsNames").([]any)
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for i, c := range []struct{ got, want any }{
		{at(set, "spec", "serviceName"), "other"},
		{at(pod, "containers", 0, "image"), "signalbox:local" + digest},
		{at(http, "spec", "type"), "LoadBalancer"},
		{at(http, "metadata", "annotations", "a"), "http"},
		{at(ingress, "spec", "ingressClassName"), "nginx"},
		{at(ingress, "spec", "rules", 0, "host"), "locks.example.com"},
		{at(ingress, "spec", "rules", 0, "http", "paths", 0, "backend", "service", "name"),
			"other-http"},
		{at(ingress, "spec", "tls", 0, "secretName"), "locks"},
		{at(ingress, "metadata", "annotations", "nginx.ingress.kubernetes.io/backend-protocol"), "HTTPS"},
		{allowed, "other-http.signalbox.svc,locks.example.com"},
		{at(pod, "affinity") != nil, true},
		{at(set, "spec", "template", "metadata", "labels", "team"), "infra"},
		{at(set, "spec", "template", "metadata", "labels", "app"), "other"},
		{at(pod, "volumes", 2, "secret", "secretName"), "more"},
		{at(pod, "containers", 0, "volumeMounts", 3, "mountPath"), "/etc/more"},
		{at(init, "volumes", 2, "secret", "secretName"), "more"},
		{at(init, "containers", 0, "volumeMounts", 2, "mountPath"), "/etc/more"},
		{at(certificate, "spec", "secretName"), "signalbox-tls"},
		{at(certificate, "spec", "issuerRef", "name"), "authority"},
		{at(certificate, "metadata", "annotations", "helm.sh/hook"), "pre-install"},
		{len(names), 19},
		{slices.Contains(names, any("other-8")), true},
		{slices.Contains(names, any("other-8.other.signalbox.svc")), true},
		{at(gateway, "spec", "template", "spec", "containers", 0, "image"), "signalbox-ydb:9"},
		{at(objects["Service other-ydb"], "spec", "type"), "NodePort"},
		{at(objects["Service other-ydb"], "metadata", "annotations", "a"), "ydb"},
		{at(objects["PrometheusRule other"], "metadata", "labels", "release"), "prometheus"},
		{at(objects["ConfigMap other-dashboard"], "metadata", "labels", "grafana_dashboard"), "1"},
	} {
		if c.got != c.want {
			t.Errorf("%d: got %v, want %v\n%s", i, c.got, c.want, text)
		}
	}
	// The next upgrade manages the certificate: it is no hook, and belongs to the release.
	later, _, err := render(t, everything, 3)
	if err != nil || at(later["Certificate other"], "metadata", "annotations", "helm.sh/hook") != nil ||
		at(certificate, "metadata", "annotations", "meta.helm.sh/release-name") != "signalbox" {
		t.Errorf("%v, %v", later["Certificate other"], err)
	}
}

// TestTheChartHasTheAlertsAndTheDashboard: the chart has the files in deploy as they are.
func TestTheChartHasTheAlertsAndTheDashboard(t *testing.T) {
	objects, _, err := render(t, everything, 0)
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile(filepath.Join("..", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := yaml.Unmarshal(alerts, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(at(objects["PrometheusRule other"], "spec"), want) {
		t.Error("the chart has other alerts than deploy/prometheus/alerts.yaml")
	}
	dashboard, err := os.ReadFile(filepath.Join("..", "grafana", "signalbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	if at(objects["ConfigMap other-dashboard"], "data", "signalbox.json") != string(dashboard) {
		t.Error("the chart has another dashboard than deploy/grafana/signalbox.json")
	}
}

// TestHelmFindsNothingToComplainAbout lints the chart with helm's own rules, with few and with all options.
func TestHelmFindsNothingToComplainAbout(t *testing.T) {
	for _, values := range []string{"", everything} {
		given, err := chartutil.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.All(filepath.Join("..", "chart"), given, "signalbox", true).Messages {
			if m.Severity >= support.WarningSev {
				t.Error(m)
			}
		}
	}
	bad, err := chartutil.ReadValues([]byte("replicas: 4"))
	if err != nil {
		t.Fatal(err)
	}
	if lint.All(filepath.Join("..", "chart"), bad, "signalbox", true).HighestSeverity < support.ErrorSev {
		t.Error("lint accepts a wrong value")
	}
}

var valueOfTemplate = regexp.MustCompile(`\.Values\.([a-zA-Z.]+)`)

// valuesOfChart returns the names of all values, including values with nested values.
func valuesOfChart(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "chart", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	said := make(map[string]bool)
	var collect func(prefix string, of *yaml.Node)
	collect = func(prefix string, of *yaml.Node) {
		for i := 0; i+1 < len(of.Content) && of.Kind == yaml.MappingNode; i += 2 {
			said[prefix+of.Content[i].Value] = true
			collect(prefix+of.Content[i].Value+".", of.Content[i+1])
		}
	}
	collect("", root.Content[0])
	return said
}

// TestEveryValueIsSaid: the templates and the values file have the same values.
func TestEveryValueIsSaid(t *testing.T) {
	said := valuesOfChart(t)
	files, err := filepath.Glob(filepath.Join("..", "chart", "templates", "*"))
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	asked := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range valueOfTemplate.FindAllStringSubmatch(string(text), -1) {
			asked[m[1]] = true
			if !said[m[1]] {
				t.Errorf("%s asks for the value %s, which is not in the file of values", file, m[1])
			}
		}
	}
	for value := range said {
		covered := asked[value]
		for of := range asked { // used through a whole object, or through a nested value
			covered = covered || strings.HasPrefix(value, of+".") || strings.HasPrefix(of, value+".")
		}
		if !covered {
			t.Errorf("no template asks for the value %s", value)
		}
	}
}
