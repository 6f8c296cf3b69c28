package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/server/settings"
)

// variableForm matches Signalbox's environment variables.
var variableForm = regexp.MustCompile(`^SIGNALBOX_[A-Z_]+$`)

// load loads settings like a host, and rejects warnings too: shipped settings must have no problem.
func load(t *testing.T, what string, from settings.Sources) settings.Settings {
	t.Helper()
	s, err := settings.Load(from)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, w := range s.Warnings() {
		if s.Insecure.Has(settings.PartRaft) && strings.Contains(w, "can write to the cluster's log") {
			continue // the file itself declares the network as trusted
		}
		t.Errorf("%s: %s", what, w)
	}
	known := settingsPage(t)
	for _, line := range from.Environment {
		if name, _, _ := strings.Cut(line, "="); !variableForm.MatchString(name) || !strings.Contains(known,
			"`"+name+"`") {
			t.Errorf("%s: %s is no setting", what, name)
		}
	}
	return s
}

// settingsPage is the page that names every setting. A test in server/settings compares the page with the settings
// table.
func settingsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// here replaces file names in settings with existing files.
func here(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	return regexp.MustCompile(`/etc/signalbox/[a-z./]*[a-z]`).ReplaceAllStringFunc(text, func(path string) string {
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	})
}

// composeHost is a host's service in the compose file.
type composeHost struct {
	name        string
	environment []string
	ports       []string
	settings    settings.Settings
}

func composeHosts(t *testing.T) (hosts []composeHost) {
	t.Helper()
	var file struct {
		Services yaml.Node
		Volumes  map[string]any
	}
	readYAML(t, "compose.yaml", &file)
	for i := 0; i < len(file.Services.Content); i += 2 {
		var service struct {
			Image, Hostname string
			Environment     map[string]string
			Ports, Volumes  []string
			StopGracePeriod string `yaml:"stop_grace_period"`
			Build           struct{ Context, Dockerfile string }
		}
		h := composeHost{name: file.Services.Content[i].Value}
		if err := file.Services.Content[i+1].Decode(&service); err != nil {
			t.Fatal(err)
		}
		if service.Environment["SIGNALBOX_NAME"] == "" {
			continue
		}
		if service.Hostname != h.name || service.Environment["SIGNALBOX_NAME"] != h.name {
			t.Errorf("%s must have a fixed host name, and the same name as a host", h.name)
		}
		volume, _, _ := strings.Cut(service.Volumes[0], ":")
		if _, ok := file.Volumes[volume]; !ok || volume != h.name {
			t.Errorf("%s has the volume %q", h.name, volume)
		}
		if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", h.name, err)
		}
		stopsInTime(t, h.name, service.StopGracePeriod)
		h.ports = service.Ports
		for name, value := range service.Environment {
			h.environment = append(h.environment, name+"="+value)
		}
		h.settings = load(t, "compose.yaml: "+h.name, settings.Sources{Environment: h.environment})
		hosts = append(hosts, h)
	}
	return hosts
}

// stopsInTime: a host takes up to five seconds to stop in peace.
func stopsInTime(t *testing.T, what, limit string) {
	t.Helper()
	d, err := time.ParseDuration(limit)
	if err != nil || d < 10*time.Second {
		t.Errorf("%s is given %q to stop, %v", what, limit, err)
	}
}

func TestTheComposeFileMakesACluster(t *testing.T) {
	hosts := composeHosts(t)
	if len(hosts) != 3 {
		t.Fatalf("there are %d hosts", len(hosts))
	}
	advertised := make(map[string]bool)
	for _, h := range hosts {
		s := h.settings
		if len(s.InitialHosts) != 3 || s.InitialHosts[0] != hosts[0].settings.InitialHosts[0] ||
			s.ClusterName != hosts[0].settings.ClusterName {
			t.Errorf("%s has another cluster: %v", h.name, s.InitialHosts)
		}
		advertised[s.Advertise] = true
		_, port, _ := strings.Cut(s.Listen, ":")
		if want := s.Advertise + ":" + port; !slices.Contains(h.ports, want) {
			t.Errorf("%s tells clients %s, and its ports are %v", h.name, s.Advertise, h.ports)
		}
		_, port, _ = strings.Cut(s.HTTPListen, ":")
		if !slices.ContainsFunc(h.ports, func(p string) bool {
			return strings.HasPrefix(p, "127.0.0.1:") && strings.HasSuffix(p, ":"+port)
		}) {
			t.Errorf("%s serves HTTP at %s, and its ports are %v", h.name, s.HTTPListen, h.ports)
		}
	}
	if len(advertised) != len(hosts) {
		t.Errorf("clients are told the same address for two hosts: %v", advertised)
	}
}

// manifests decodes a file's documents of the given kinds, and counts all documents.
func manifests(t *testing.T, file string, into map[string]any) (kinds map[string]int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds = make(map[string]int)
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return kinds
		} else if err != nil {
			t.Fatal(err)
		}
		var named struct{ Kind string }
		if err := document.Decode(&named); err != nil {
			t.Fatal(err)
		}
		kinds[named.Kind]++
		if to := into[named.Kind]; to != nil {
			if err := document.Decode(to); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// settingsOf returns a container's settings, in the named pod.
func (c *container) settingsOf(t *testing.T, what, name string) settings.Settings {
	t.Helper()
	var environment []string
	for _, e := range c.Env {
		value := strings.ReplaceAll(e.Value, "$(SIGNALBOX_NAME)", name)
		if e.Name == "SIGNALBOX_NAME" {
			value = name
		}
		environment = append(environment, e.Name+"="+here(t, value))
	}
	return load(t, "kubernetes: "+what, settings.Sources{Environment: environment})
}

func TestTheManifestsOfKubernetesMakeACluster(t *testing.T) {
	var set statefulSet
	var policy networkPolicy
	kinds := manifests(t, "kubernetes/signalbox.yaml", map[string]any{"NetworkPolicy": &policy, "StatefulSet": &set})
	if kinds["StatefulSet"] != 1 || kinds["Service"] != 2 || kinds["NetworkPolicy"] != 1 {
		t.Fatalf("there are %v", kinds)
	}
	for port, protected := range map[string]bool{"clients": false, "raft": true, "admin": true, "http": true} {
		if from, open := policy.from(port); !open || (from > 0) != protected {
			t.Errorf("the NetworkPolicy lets %d peers to port %s", from, port)
		}
	}
	spec := set.Spec
	if spec.PodManagementPolicy != "Parallel" {
		t.Error("no host is ready before others run, so they must start together")
	}
	stopsInTime(t, "a pod", strconv.Itoa(spec.Template.Spec.Grace)+"s")
	container := &spec.Template.Spec.Containers[0]
	for i := range spec.Replicas {
		name := spec.ServiceName + "-" + strconv.Itoa(i)
		s := container.settingsOf(t, name, name)
		if !slices.Contains(s.Join, s.RaftAdvertise) || len(s.Join) != spec.Replicas ||
			s.Replace != name || !strings.HasPrefix(s.RaftAdvertise, name+".") ||
			!strings.HasPrefix(s.Advertise, name+".") {
			t.Errorf("%s joins %v in the place of %s, tells hosts %s and clients %s", name, s.Join, s.Replace,
				s.RaftAdvertise, s.Advertise)
		}
		// The pod's own DNS name may not resolve at the start.
		if host, _, _ := strings.Cut(s.RaftListen, ":"); host != "0.0.0.0" {
			t.Errorf("%s listens for other hosts on %s", name, s.RaftListen)
		}
		for port, address := range map[string]string{"clients": s.TLSListen, "raft": s.RaftListen,
			"admin": s.AdminListen, "http": s.HTTPListen} {
			if !container.has(port, address) {
				t.Errorf("%s listens on %s, and the ports are %v", name, address, container.Ports)
			}
		}
	}
}

// TestAClusterInKubernetesIsMadeOnce compares the container that bootstraps the first host with the container that runs
// the host.
func TestAClusterInKubernetesIsMadeOnce(t *testing.T) {
	var set statefulSet
	var job struct {
		Spec struct {
			Backoff  int `yaml:"backoffLimit"`
			Template podTemplate
		}
	}
	var claim struct {
		Metadata struct{ Name string }
		Spec     any
	}
	manifests(t, "kubernetes/signalbox.yaml", map[string]any{"StatefulSet": &set})
	kinds := manifests(t, "kubernetes/init.yaml", map[string]any{"Job": &job, "PersistentVolumeClaim": &claim})
	if len(kinds) != 2 || kinds["Job"] != 1 || kinds["PersistentVolumeClaim"] != 1 || job.Spec.Backoff != 0 {
		t.Fatalf("there are %v", kinds)
	}
	first := set.Spec.ServiceName + "-0"
	volume := set.Spec.Volumes[0]
	if claim.Metadata.Name != volume.Metadata.Name+"-"+first || !reflect.DeepEqual(claim.Spec, volume.Spec) {
		t.Errorf("the volume %+v is not that of %s: %+v", claim, first, volume)
	}
	container := &job.Spec.Template.Spec.Containers[0]
	if !slices.Equal(container.Args, []string{"init"}) {
		t.Errorf("the job does %v", container.Args)
	}
	made := container.settingsOf(t, "init", first)
	started := set.Spec.Template.Spec.Containers[0].settingsOf(t, first, first)
	if made.Name != started.Name || made.ClusterName != started.ClusterName || made.DataDir != started.DataDir ||
		made.Shards != started.Shards || made.RaftAdvertise != started.RaftAdvertise || made.Joins() {
		t.Errorf("made is %+v, and started %+v", made, started)
	}
}

// TestAPodIsDrainedBeforeItIsStopped: the hook's command and all its flags exist.
func TestAPodIsDrainedBeforeItIsStopped(t *testing.T) {
	var set statefulSet
	manifests(t, "kubernetes/signalbox.yaml", map[string]any{"StatefulSet": &set})
	pod := &set.Spec.Template.Spec
	command := pod.Containers[0].Lifecycle.PreStop.Exec.Command
	if len(command) < 3 || !slices.Equal(command[:3], []string{"signalbox", "host", "drain"}) {
		t.Fatalf("the hook is %v", command)
	}
	bound := time.Duration(0)
	for _, argument := range command {
		if within, is := strings.CutPrefix(argument, "--wait-timeout="); is {
			bound, _ = time.ParseDuration(within)
		}
	}
	// A host takes up to five seconds to stop.
	if grace := time.Duration(pod.Grace) * time.Second; bound <= 0 || bound+10*time.Second > grace {
		t.Errorf("of the %v until the pod is killed the hook may take %v", grace, bound)
	}
	checkFlags(t, &set, command[3:])
}

// TestBackupsAreSavedFromAllHosts: the command exists, and one backup runs at a time.
func TestBackupsAreSavedFromAllHosts(t *testing.T) {
	var set statefulSet
	var cron struct {
		Spec struct {
			Concurrency string `yaml:"concurrencyPolicy"`
			Job         struct {
				Spec struct{ Template podTemplate }
			} `yaml:"jobTemplate"`
		}
	}
	manifests(t, "kubernetes/signalbox.yaml", map[string]any{"StatefulSet": &set})
	kinds := manifests(t, "kubernetes/backup.yaml", map[string]any{"CronJob": &cron})
	if len(kinds) != 2 || kinds["CronJob"] != 1 || kinds["PersistentVolumeClaim"] != 1 ||
		cron.Spec.Concurrency != "Forbid" {
		t.Fatalf("there are %v, %+v", kinds, cron)
	}
	args := cron.Spec.Job.Spec.Template.Spec.Containers[0].Args
	if len(args) < 3 || !slices.Equal(args[:3], []string{"backup", "save", "/backups"}) {
		t.Fatalf("the job does %v", args)
	}
	checkFlags(t, &set, args[3:])
}

// checkFlags compares the tool's flags with its page, and endpoints with the addresses that hosts advertise.
func checkFlags(t *testing.T, set *statefulSet, flags []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, argument := range flags {
		flag, value, _ := strings.Cut(argument, "=")
		if !strings.HasPrefix(flag, "--") || !strings.Contains(string(page), flag+" ") {
			t.Errorf("%s is no flag of the tool", argument)
		}
		if flag == "--endpoints" {
			for i, endpoint := range strings.Split(value, ",") {
				name := set.Spec.ServiceName + "-" + strconv.Itoa(i)
				s := set.Spec.Template.Spec.Containers[0].settingsOf(t, name, name)
				if endpoint != s.Advertise {
					t.Errorf("%s is asked at %s, and advertises %s", name, endpoint, s.Advertise)
				}
			}
		}
	}
}

type networkPolicy struct {
	Spec struct {
		Ingress []struct {
			Ports []struct{ Port string }
			From  []map[string]any
		}
	}
}

// from returns the number of peers with access to a port, or 0 if all have access, and whether the port is open at all.
func (p *networkPolicy) from(port string) (peers int, open bool) {
	for _, rule := range p.Spec.Ingress {
		for _, to := range rule.Ports {
			if to.Port == port {
				return len(rule.From), true
			}
		}
	}
	return 0, false
}

type statefulSet struct {
	Spec struct {
		ServiceName         string `yaml:"serviceName"`
		Replicas            int
		PodManagementPolicy string `yaml:"podManagementPolicy"`
		Template            podTemplate
		Volumes             []struct {
			Metadata struct{ Name string }
			Spec     any
		} `yaml:"volumeClaimTemplates"`
	}
}

type podTemplate struct {
	Spec struct {
		Grace      int `yaml:"terminationGracePeriodSeconds"`
		Containers []container
	}
}

type container struct {
	Args  []string
	Env   []struct{ Name, Value string }
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	Lifecycle struct {
		PreStop struct {
			Exec struct{ Command []string }
		} `yaml:"preStop"`
	}
}

func (c *container) has(name, address string) bool {
	for _, p := range c.Ports {
		if p.Name == name && strings.HasSuffix(address, ":"+strconv.Itoa(p.ContainerPort)) {
			return true
		}
	}
	return false
}

func TestTheImageHasWhatTheComposeFileExpects(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := string(text)
	for _, want := range []string{
		"CGO_ENABLED=0", "USER 65532:65532", "SIGNALBOX_DATA_DIR=/var/lib/signalbox", "VOLUME /var/lib/signalbox",
		"STOPSIGNAL SIGTERM", `ENTRYPOINT ["signalbox"]`, "-X main.version=",
	} {
		if !strings.Contains(file, want) {
			t.Errorf("the Dockerfile lacks %s", want)
		}
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if !strings.Contains(file, "FROM golang:"+string(version[1])+" ") {
		t.Errorf("the image is not built with Go %s, which go.mod asks for", version[1])
	}
	for _, m := range regexp.MustCompile(`SIGNALBOX_[A-Z_]+`).FindAllString(file, -1) {
		client := m == "SIGNALBOX_CACERT" || strings.Contains(m, "_CLIENT_T")
		if !client && !strings.Contains(settingsPage(t), "`"+m+"`") {
			t.Errorf("%s is no setting", m)
		}
	}
}
