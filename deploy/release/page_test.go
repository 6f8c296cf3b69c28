package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// installPage is docs/install.md on a machine that has a release in /dist.
type installPage struct {
	*machine
	text string
}

// blocks returns a section's code blocks in a language, with this release's version and processor filled in.
func (ip *installPage) blocks(section, language string) (list []string) {
	ip.t.Helper()
	_, rest, found := strings.Cut(ip.text, "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	this := strings.NewReplacer("1.2.3", testVersion.number, "amd64", runtime.GOARCH)
	for _, part := range strings.Split(rest, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		list = append(list, this.Replace(block))
	}
	if !found || len(list) == 0 {
		ip.t.Fatalf("the page has no %s in %s", language, section)
	}
	return list
}

// typed types a section's block into a shell in /dist. The block must succeed; typed returns the output.
func (ip *installPage) typed(section string, i int, env ...string) string {
	ip.t.Helper()
	cmd := ip.command("sh", "-ec", "cd /dist\n"+ip.blocks(section, "sh")[i])
	cmd.Env = append(cmd.Env, env...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		ip.t.Fatalf("%s: %v\n%s%s", section, err, out, failed.String())
	}
	return string(out) + failed.String()
}

// TestThePageAsTyped types the commands in docs/install.md for packages, archives and images in order, like a reader
// who installs on a new machine and then uninstalls everything.
func TestThePageAsTyped(t *testing.T) {
	out := releaseHere(t)
	needRoot(t, "dpkg", "runuser")
	var files []string
	for _, name := range namesOf(t, out) {
		files = append(files, filepath.Join(out, name))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := &installPage{machine: newMachine(t, files...), text: string(text)}

	page.typed("Verify", 0)
	page.typed("Package", 0)
	want := page.blocks("Verify", "text")[0]
	said, err := page.command("signalbox", "version").Output() // as on the page, with this version
	if err != nil || strings.TrimSpace(string(said)) != strings.ReplaceAll(want,
		"0123456789abcdef0123456789abcdef01234567", testVersion.commit) || !strings.Contains(want, "newest level") {
		t.Errorf("the version is\n%s\nand the page has\n%s\n%v", said, want, err)
	}
	page.typed("Verify", 1)

	ports, err := subprocess.ReservePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	at := ports.Addresses
	page.write("etc/signalbox/signalbox.yaml", "data-dir: /var/lib/signalbox\nlisten: "+at[0]+"\nadmin-listen: "+at[1]+
		"\nhttp-listen: "+at[2]+"\nraft-listen: "+at[3]+"\n", 0o640)
	page.typed("Package", 2)
	if got := page.mode("/var/lib/signalbox/identity.json"); !strings.HasSuffix(got, " signalbox:signalbox") {
		t.Errorf("the data of a new cluster is %s: the unit could not start its host", got)
	}
	host := launch(t, page.asUser("/usr/bin/signalbox", "serve", "--config", "/etc/signalbox/signalbox.yaml"))
	page.askedOfSystemd()
	page.typed("Package", 1, "SIGNALBOX_ENDPOINTS="+at[0])
	page.write("running/signalbox.service", "", 0o644)
	page.typed("Upgrade", 0)
	if asked := page.askedOfSystemd(); asked[0] != "enable --now signalbox" ||
		asked[len(asked)-1] != "restart signalbox.service" {
		t.Errorf("systemd is asked %q", asked)
	}
	if err := host.Stop(patience); err != nil {
		t.Error(err)
	}

	if got := page.typed("Archive", 0); !strings.Contains(got, "signalbox v"+testVersion.number+"\n") {
		t.Errorf("the program of the archive says %q", got)
	}
	page.typed("Remove", 0)
	if page.there("usr/bin/signalbox") || page.there("etc/signalbox") ||
		!page.there("var/lib/signalbox/identity.json") {
		t.Error("program and settings go, and data stays")
	}
}

// TestSkopeoReadsTheImage with the page's command, into a folder instead of a registry.
func TestSkopeoReadsTheImage(t *testing.T) {
	out := releaseHere(t)
	if _, err := exec.LookPath("skopeo"); err != nil {
		missing(t, "skopeo is not installed")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	page := &installPage{machine: &machine{t: t}, text: string(text)}
	line := regexp.MustCompile(`docker://\S+`).ReplaceAllString(page.blocks("Image", "sh")[0], "dir:"+to)
	cmd := exec.Command("sh", "-ec", line)
	cmd.Dir = out
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, said)
	}
	if names := namesOf(t, to); !slices.Contains(names, "manifest.json") || len(names) < 4 {
		t.Errorf("copied are %q", names)
	}
}

// TestTheValuesThatThePageNames are values in the chart.
func TestTheValuesThatThePageNames(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := &installPage{machine: &machine{t: t}, text: string(text)}
	_, section, _ := strings.Cut(page.text, "\n## Chart\n")
	section, _, _ = strings.Cut(section, "\n## ")
	given := regexp.MustCompile(`--set ([a-z.A-Z]+)=|\x60([a-z]+\.[a-zA-Z.]+|replicas|resources|settings)[\x60,=]`)
	values, found := valuesOfChart(t), 0
	for _, m := range given.FindAllStringSubmatch(section, -1) {
		name := m[1] + m[2]
		if strings.HasSuffix(name, ".yaml") {
			continue // a file in a secret
		}
		if found++; !values[name] {
			t.Errorf("the chart has no value %s", name)
		}
	}
	if found < 15 {
		t.Errorf("only %d values were found", found)
	}
}
