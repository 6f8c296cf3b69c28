//go:build unix

package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// operatingPage reads the operator's guides, and replaces ports and folders on the pages with free ports and a test
// folder.
type operatingPage struct {
	t         *testing.T
	folder    string
	endpoints string
	places    *strings.Replacer
}

// newOperatingPage reads the guides for so many hosts: their ports begin with 7420, 7430 and so on.
func newOperatingPage(t *testing.T, hosts int) *operatingPage {
	t.Helper()
	const ports = 3 // of a host
	reserved, err := subprocess.ReservePorts(ports * hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Close)
	p := &operatingPage{t: t, folder: t.TempDir()}
	var clients, places []string
	for i, address := range reserved.Addresses {
		host, port := i/ports, i%ports
		places = append(places, fmt.Sprintf("127.0.0.1:%d", 7420+10*host+port), address)
		if port == 0 {
			clients = append(clients, address)
		}
	}
	for _, flag := range []string{"--data-dir ", "--from "} {
		places = append(places, flag, flag+p.folder+string(filepath.Separator))
	}
	p.endpoints, p.places = strings.Join(clients, ","), strings.NewReplacer(places...)
	return p
}

// awaitRefusal waits until a host has reported why it cannot continue, and has exited: other hosts need its ports.
func (te *terminal) awaitRefusal(want string) {
	te.t.Helper()
	te.await(want)
	select {
	case <-te.over:
	case <-time.After(patience):
		te.t.Fatalf("%s does not end", te.command.Args[2])
	}
	if code := te.command.ProcessState.ExitCode(); code != 65 {
		te.t.Errorf("%s ended with code %d", te.command.Args[2], code)
	}
}

// commands returns the commands in a guide, or in one section of a guide, as in "add-hosts#Credentials".
func (p *operatingPage) commands(guide string, count int) []string {
	p.t.Helper()
	name, section, _ := strings.Cut(guide, "#")
	path := "docs/guides/" + name + ".md"
	text := readPage(p.t, path).text
	if section != "" {
		_, rest, ok := strings.Cut(text, "\n## "+section+"\n")
		if !ok {
			p.t.Fatalf("%s has no section %s", path, section)
		}
		text, _, _ = strings.Cut(rest, "\n## ")
	}
	// Blocks in lists are indented.
	text = strings.ReplaceAll(text, "\n   ", "\n")
	var commands []string
	for _, f := range newPage(path, text).fences {
		for _, c := range f.commands() {
			commands = append(commands, p.places.Replace(c))
		}
	}
	if len(commands) != count {
		p.t.Fatalf("%s has the commands %q", guide, commands)
	}
	return commands
}

// TestHostsComeAndGoAsTyped types the commands in the guides. A cluster grows. A host that lost its directory is
// refused under its old name, then replaces itself. One host is drained and restarted as for an upgrade, and one host
// is decommissioned. At the end one host's data is recovered into a new cluster, which refuses the other hosts.
func TestHostsComeAndGoAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	page := newOperatingPage(t, 3)
	d := newDesk(t)
	d.environment = []string{"PATH=" + buildSignalbox(t) + ":" + os.Getenv("PATH"),
		"SIGNALBOX_ENDPOINTS=" + page.endpoints}
	hosts := page.grows(d)
	hosts["b"] = page.replaces(d, hosts["b"])
	hosts["b"] = page.upgrades(d, hosts["b"])
	page.leaves(d, hosts)
	page.loses(d, hosts)
}

// grows types the commands that create a cluster with three hosts, and returns the hosts' terminals.
func (p *operatingPage) grows(d *desk) map[string]*terminal {
	commands := p.commands("add-hosts", 4)
	d.open(commands[0]).awaitEnd("")
	first := d.open(commands[1])
	first.await("is ready")
	// The page's stabilization time is ten seconds; a shorter one saves time.
	d.open("signalbox cluster policy set --stabilization-time 1s").awaitEnd("")
	second, third := d.open(commands[2]), d.open(commands[3])
	for _, te := range []*terminal{second, third} {
		te.await("is ready")
	}
	for _, replica := range []string{"shard 0", "shard 1"} {
		first.await(replica + ": voter")
	}
	return map[string]*terminal{"a": first, "b": second, "c": third}
}

// replaces loses a host's directory, and returns the replacement.
func (p *operatingPage) replaces(d *desk, lost *terminal) *terminal {
	commands := p.commands("replace-host", 2)
	lost.interrupt()
	lost.awaitEnd("")
	if err := os.RemoveAll(filepath.Join(p.folder, "b")); err != nil {
		p.t.Fatal(err)
	}
	d.open(p.commands("add-hosts", 4)[2]).awaitRefusal("--replace b if the existing host is permanently lost")
	again := d.open(commands[0])
	again.await("is ready")
	te := d.open(commands[1])
	te.await("nothing to do")
	te.awaitEnd("")
	return again
}

// upgrades types the commands for one host's upgrade, and returns the upgraded host.
func (p *operatingPage) upgrades(d *desk, running *terminal) *terminal {
	commands := p.commands("rolling-upgrade#Upgrade one host", 2)
	te := d.open(commands[0])
	te.await("host b is drained")
	te.awaitEnd("")
	again := d.open("signalbox host drain b --wait-timeout 1m")
	again.await("host b was already drained")
	again.awaitEnd("")
	d.open("signalbox host drain c --wait-timeout 1m").await("host c cannot be drained: ")
	running.interrupt()
	running.awaitEnd("")
	started := d.open(p.commands("add-hosts", 4)[2])
	started.await("is ready")
	d.open(commands[1]).awaitEnd("")
	return started
}

// leaves drains a host for a while, and a second host for ever.
func (p *operatingPage) leaves(d *desk, hosts map[string]*terminal) {
	commands := p.commands("decommission", 4)
	for i, says := range []string{
		"host b is drained", "host b is undrained", "host c is drained", "host c is expelled",
	} {
		te := d.open(commands[i])
		te.await(says)
		te.awaitEnd("")
	}
	hosts["c"].awaitRefusal("was expelled")
	d.open("signalbox check --quiet").await("two hosts: ")
}

// loses creates a new cluster from the first host's data. A host from the old cluster is refused.
func (p *operatingPage) loses(d *desk, hosts map[string]*terminal) {
	commands := p.commands("disaster-recovery#Recover from quorum loss", 3)
	for _, name := range []string{"b", "a"} {
		hosts[name].interrupt()
		hosts[name].awaitEnd("")
	}
	te := d.open(commands[0])
	te.await("generation 1")
	te.awaitEnd("")
	d.open(commands[1]).await("is ready")
	d.open(p.commands("add-hosts", 4)[2]).awaitRefusal("the cluster was rebuilt without the refused host")
	d.open(commands[2]).await("is ready")
}
