package main

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/internal/testcert"
)

// chartHosts runs the chart's containers as processes on this machine, each with the chart's own settings and
// commands: a pod is a process, a volume is a folder, and a pod's addresses are ports on this machine.
type chartHosts struct {
	t        *testing.T
	folder   string
	program  string
	ports    []string // four per pod
	pods     map[string]*subprocess.Process
	pod      object // the pod template of the hosts
	operator []any  // flags for an operator's command
}

// chartPods is the largest number of pods in the test.
const chartPods = 5

// newChartHosts makes the secrets that the chart expects. The certificate has the names in the chart's Certificate, and
// this machine's address.
func newChartHosts(t *testing.T, objects map[string]object) *chartHosts {
	t.Helper()
	c := &chartHosts{t: t, folder: t.TempDir(), pods: make(map[string]*subprocess.Process)}
	c.program = filepath.Join(c.folder, "signalbox")
	build := exec.Command("go", "build", "-o", c.program, "./cmd/signalbox")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	reserved, err := subprocess.ReservePorts(4 * chartPods)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Close)
	c.ports = reserved.Addresses

	template := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	for _, name := range at(objects["Certificate signalbox"], "spec", "dnsNames").([]any) {
		template.DNSNames = append(template.DNSNames, name.(string))
	}
	authority := testcert.New(t)
	ca, err := os.ReadFile(authority.Sign(t, "unused").CAFile)
	if err != nil {
		t.Fatal(err)
	}
	c.write("tls/ca.crt", string(ca))
	authority.SignAnew(t, testcert.Files{
		CertFile: filepath.Join(c.folder, "tls", "tls.crt"), KeyFile: filepath.Join(c.folder, "tls", "tls.key"),
	}, template)
	token, err := exec.Command(c.program, "token", "generate", "--name", "operator").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(token)), "\n")
	c.write("tokens/operator", strings.TrimSpace(lines[2])+"\n")
	c.write("tokens/access.yaml", "principals:\n"+lines[len(lines)-1]+"\n")
	return c
}

func (c *chartHosts) write(name, text string) {
	c.t.Helper()
	name = filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// volume returns the folder that stands for a pod's volume.
func (c *chartHosts) volume(pod string) string { return filepath.Join(c.folder, "data-"+pod) }

// here translates a value in a pod: paths and addresses become those of this machine.
func (c *chartHosts) here(pod string, value any) string {
	to := []string{
		"/var/lib/signalbox", c.volume(pod), "/etc/signalbox", c.folder,
	}
	ports := []string{":7420", ":7421", ":7422", ":7424"}
	for i := range chartPods {
		name := fmt.Sprintf("signalbox-%d", i)
		for k, port := range ports {
			to = append(to, name+".signalbox.signalbox.svc"+port, c.ports[4*i+k])
			if name == pod {
				to = append(to, "0.0.0.0"+port, c.ports[4*i+k])
			}
		}
	}
	text := strings.ReplaceAll(fmt.Sprint(value), "$(SIGNALBOX_NAME)", pod)
	return strings.NewReplacer(to...).Replace(text)
}

// command returns a container's command in a pod.
func (c *chartHosts) command(pod string, container any, args []any) *exec.Cmd {
	cmd := exec.Command(c.program)
	for _, a := range args {
		cmd.Args = append(cmd.Args, c.here(pod, a))
	}
	environment, _ := at(container, "env").([]any)
	for _, e := range environment {
		value := at(e, "value")
		if at(e, "valueFrom", "fieldRef", "fieldPath") == "metadata.name" {
			value = pod
		}
		cmd.Env = append(cmd.Env, fmt.Sprint(at(e, "name"), "=", c.here(pod, value)))
	}
	return cmd
}

// ends runs a command until it ends, and returns its output.
func (c *chartHosts) ends(cmd *exec.Cmd) string {
	c.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		for name, pod := range c.pods {
			c.t.Logf("%s: %s", name, pod.Errors())
		}
		c.t.Fatalf("%q: %v\n%s", cmd.Args[1:], err, out)
	}
	return string(out)
}

// does runs an operator's command.
func (c *chartHosts) does(args ...any) string {
	c.t.Helper()
	return c.ends(c.command("", nil, slices.Concat(args, c.operator)))
}

// start starts a pod, and waits until it is ready.
func (c *chartHosts) start(pod string) {
	c.t.Helper()
	c.pods[pod] = launch(c.t, c.command(pod, at(c.pod, "containers", 0), []any{"serve"}))
}

// stop stops a pod as the kubelet does: with the hook, then with SIGTERM.
func (c *chartHosts) stop(pod string) {
	c.t.Helper()
	container := at(c.pod, "containers", 0)
	hook := at(container, "lifecycle", "preStop", "exec", "command").([]any)
	if said := c.ends(c.command(pod, container, hook[1:])); !strings.Contains(said, "host "+pod+" is drained") {
		c.t.Errorf("the hook of %s says %s", pod, said)
	}
	if err := c.pods[pod].Stop(patience); err != nil {
		c.t.Error(err)
	}
}

// settles waits until nothing is left to do, and checks the hosts and the failure tolerance of each shard.
func (c *chartHosts) settles(hosts, tolerance int) {
	c.t.Helper()
	c.does("cluster", "why", "--wait")
	var shown struct {
		Shards []struct {
			Live      int `json:"voters_live"`
			Tolerance int `json:"failure_tolerance"`
		}
	}
	text := c.does("cluster", "describe", "-o", "json")
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		c.t.Fatal(err)
	}
	if len(shown.Shards) < 2 {
		c.t.Fatalf("there are no shards: %s", text)
	}
	for _, s := range shown.Shards {
		if s.Live != hosts || s.Tolerance != tolerance {
			c.t.Errorf("a shard has %d live voters and tolerates %d failures, want %d and %d:\n%s", s.Live,
				s.Tolerance, hosts, tolerance, text)
		}
	}
}

// TestThePodsOfTheChartOnProcesses takes the steps in docs/guides/kubernetes.md with the chart's own containers: an
// installation, five hosts in place of three, a node drain, a lost volume, three hosts in place of five, and an old
// volume.
func TestThePodsOfTheChartOnProcesses(t *testing.T) {
	if !*withPods {
		t.Skip("three minutes; make pods runs it")
	}
	const values = "{tls: {certManager: {enabled: true}}, replicas: %d}"
	rendered := func(replicas int, hosts int64) map[string]object {
		objects, _, err := render(t, fmt.Sprintf(values, replicas), hosts)
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	installed := rendered(3, 0)
	c := newChartHosts(t, installed)
	containers := func(of any, list string) []any {
		found, _ := at(of, "spec", "template", "spec", list).([]any)
		return found
	}
	c.pod = at(installed["StatefulSet signalbox"], "spec", "template", "spec").(object)
	fewer := rendered(3, 5)["Job signalbox-scale-down"]
	last := at(containers(fewer, "containers")[0], "args").([]any)
	c.operator = last[3:] // after cluster why --wait

	made := containers(installed["Job signalbox-init"], "containers")[0]
	c.ends(c.command("signalbox-0", made, at(made, "args").([]any)))
	c.start("signalbox-0")
	// The default of ten seconds would only take longer.
	c.does("cluster", "policy", "set", "--stabilization-time", "1s")
	c.does("node", "create", "/prod")
	c.start("signalbox-1")
	c.start("signalbox-2")
	c.settles(3, 1)

	// Scale up: the upgrade adds pods, and changes nothing in the others.
	grown := rendered(5, 3)
	if more := at(grown["StatefulSet signalbox"], "spec", "template", "spec").(object); !slices.Equal(
		c.command("signalbox-0", at(more, "containers", 0), nil).Env,
		c.command("signalbox-0", at(c.pod, "containers", 0), nil).Env) {
		t.Error("an upgrade to five hosts changes the settings of the three, and restarts them")
	}
	c.start("signalbox-3")
	c.start("signalbox-4")
	c.settles(5, 2)

	// A node is drained: its pod is stopped, and starts elsewhere with its volume.
	c.stop("signalbox-1")
	c.start("signalbox-1")
	c.settles(5, 2)

	// The volume of the first pod is lost, which bootstrapped the cluster.
	c.pods["signalbox-0"].Kill()
	if err := os.RemoveAll(c.volume("signalbox-0")); err != nil {
		t.Fatal(err)
	}
	c.start("signalbox-0")
	c.settles(5, 2)

	// Scale down: the job first, then the pods go.
	for _, container := range slices.Concat(containers(fewer, "initContainers"), containers(fewer, "containers")) {
		c.ends(c.command("", container, at(container, "args").([]any)))
	}
	for _, pod := range []string{"signalbox-4", "signalbox-3"} {
		if code, err := c.pods[pod].Wait(patience); err != nil || code != 65 {
			t.Errorf("%s ended with %d, %v", pod, code, err)
		}
	}
	c.settles(3, 1)
	if said := c.does("node", "list"); !strings.Contains(said, "/prod") {
		t.Errorf("the nodes are\n%s", said)
	}

	// Scale up with an old volume: the host is refused until the volume is deleted.
	refused := c.command("signalbox-3", at(c.pod, "containers", 0), []any{"serve"})
	if out, err := refused.CombinedOutput(); err == nil || refused.ProcessState.ExitCode() != 65 {
		t.Errorf("a host with an old volume ends with %v\n%s", err, out)
	}
	if err := os.RemoveAll(c.volume("signalbox-3")); err != nil {
		t.Fatal(err)
	}
	c.start("signalbox-3")
}
