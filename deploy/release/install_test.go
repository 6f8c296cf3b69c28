package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// debs returns the release's host and gateway packages for this machine.
func debs(t *testing.T) (host, gateway string) {
	t.Helper()
	out := releaseHere(t)
	needRoot(t, "dpkg")
	ending := "_1.2.3~rc.1_" + runtime.GOARCH + ".deb"
	return filepath.Join(out, "signalbox"+ending), filepath.Join(out, "signalbox-ydb"+ending)
}

// TestPackagesOfDebianInstall: installed files are complete, have the right owners and modes, and run, but no service
// is started. Both packages can be removed again, and data stays.
func TestPackagesOfDebianInstall(t *testing.T) {
	host, gateway := debs(t)
	m := newMachine(t, host, gateway)
	m.run("dpkg", "--install", "/dist/"+filepath.Base(host), "/dist/"+filepath.Base(gateway))
	m.run("dpkg", "--verify", "signalbox", "signalbox-ydb")
	for _, asked := range m.askedOfSystemd() {
		if asked != "--system daemon-reload" && !strings.HasPrefix(asked, "--quiet is-active ") {
			t.Errorf("an installation does %q", asked)
		}
	}
	for file, want := range map[string]string{
		"/etc/signalbox": "750 root:signalbox", "/etc/signalbox/signalbox.yaml": "640 root:signalbox",
		"/var/lib/signalbox": "700 signalbox:signalbox", "/usr/bin/signalbox": "755 root:root",
		"/etc/default/signalbox": "644 root:root", "/etc/default/signalbox-ydb": "644 root:root",
		"/usr/share/doc/signalbox/copyright": "644 root:root", "/usr/share/doc/signalbox/install.md": "644 root:root",
		"/usr/share/doc/signalbox/third-party-licences.txt":     "644 root:root",
		"/usr/share/doc/signalbox/examples/cluster.yaml":        "644 root:root",
		"/usr/share/bash-completion/completions/signalbox":      "644 root:root",
		"/usr/share/zsh/vendor-completions/_signalbox":          "644 root:root",
		"/usr/share/fish/vendor_completions.d/signalbox.fish":   "644 root:root",
		"/usr/share/doc/signalbox-ydb/third-party-licences.txt": "644 root:root",
		"/usr/lib/systemd/system/signalbox-ydb.service":         "644 root:root",
	} {
		if got := m.mode(file); got != want {
			t.Errorf("%s is %s, not %s", file, got, want)
		}
	}
	if files := m.run("dpkg", "--listfiles", "signalbox"); strings.Contains(files, "/etc/systemd/") {
		t.Errorf("the unit is enabled by the package:\n%s", files)
	}
	if said := m.run("signalbox-ydb", "--version"); said != "signalbox-ydb v1.2.3-rc.1\n" {
		t.Errorf("the gateway says %q", said)
	}
	checkUnits(m)
	serveAndCheck(t, m.command().Env, "/usr/bin/signalbox", func(args ...string) *exec.Cmd {
		if args[0] == "serve" {
			return m.asUser("/usr/bin/signalbox", "serve", "--config=/etc/signalbox/signalbox.yaml")
		}
		return m.command(append([]string{"signalbox"}, args...)...)
	})

	m.run("dpkg", "--remove", "signalbox", "signalbox-ydb")
	if asked := m.askedOfSystemd(); !slices.Contains(asked, "--quiet disable --now signalbox.service") ||
		!slices.Contains(asked, "--quiet disable --now signalbox-ydb.service") {
		t.Errorf("a removal does %q", asked)
	}
	if m.there("usr/bin/signalbox") || !m.there("etc/signalbox/signalbox.yaml") ||
		!m.there("var/lib/signalbox/identity.json") {
		t.Error("a removal takes the program, and neither settings nor data")
	}
	said := m.run("dpkg", "--purge", "signalbox", "signalbox-ydb")
	if m.there("etc/signalbox") || m.there("etc/default/signalbox") || !m.there("var/lib/signalbox/identity.json") ||
		!strings.Contains(said, "the data in /var/lib/signalbox stays") {
		t.Errorf("a purge takes the settings, and leaves the data: %s", said)
	}
}

// asUser returns a command under the unit's user.
func (m *machine) asUser(args ...string) *exec.Cmd {
	return m.command(append([]string{"setpriv", "--reuid=signalbox", "--regid=signalbox", "--init-groups"}, args...)...)
}

// checkUnits has systemd parse the installed units. Systemd reports unknown directives only in this check.
func checkUnits(m *machine) {
	m.t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if *need {
			m.t.Error("systemd-analyze is not installed")
		}
		m.t.Log("the units are not checked: systemd-analyze is not installed")
		return
	}
	for _, unit := range []string{"signalbox", "signalbox-ydb"} {
		file := "/usr/lib/systemd/system/" + unit + ".service"
		if said := m.run("systemd-analyze", "verify", file); strings.Contains(said, unit) {
			m.t.Errorf("systemd says of the unit:\n%s", said)
		}
	}
}

// An upgrade starts from the last commit that changed upgradeFrom. Hosts at that commit support feature levels up to
// levelBefore.
const (
	upgradeFrom = "deploy/release/testdata/upgrade-from"
	levelBefore = 1
)

// packageBefore builds an earlier commit's package, with its program, unit and settings, and today's scripts.
func packageBefore(t *testing.T) string {
	t.Helper()
	top := filepath.Join("..", "..")
	commit, err := exec.Command("git", "-C", top, "log", "-1", "--format=%H", "--", upgradeFrom).Output()
	before := strings.TrimSpace(string(commit))
	if err != nil || before == "" {
		missing(t, "this clone does not have the last change of %s: %v", upgradeFrom, err)
	}
	j := newJob(t.TempDir(), t.TempDir())
	j.version.number, j.work = "0.9.0", t.TempDir()
	cmd := exec.Command("sh", "-c", `git -C "$1" archive `+before+` | tar -x -C "$2"`, "sh", top, j.root)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := products[0]
	p.files = slices.Clone(p.files[:1])
	p.files[0].source = "deploy/systemd/signalbox.yaml"
	program, err := j.compile(&p, "linux", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	b := build{os: "linux", arch: runtime.GOARCH, shared: &shared{newestLevel: levelBefore}}
	if b.binary, err = os.ReadFile(program); err != nil {
		t.Fatal(err)
	}
	name, text, err := j.makePackage(&p, &b, &packageForms[0])
	if err == nil {
		err = j.write(name, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(j.out, name)
}

// TestAnUpgradeKeepsSettingsAndData: a running host from an earlier commit is upgraded and restarted. A downgrade is
// refused if the data's level has risen.
func TestAnUpgradeKeepsSettingsAndData(t *testing.T) {
	newer, _ := debs(t)
	older := packageBefore(t)
	m := newMachine(t, newer, older)
	install := []string{"dpkg", "--force-confdef", "--force-confold", "--install"}
	m.run(append(install, "/dist/"+filepath.Base(older))...)

	ports, err := subprocess.ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	at := ports.Addresses
	settings := "# edited\nname: a\ndata-dir: /var/lib/signalbox\nlisten: " + at[0] + "\nadmin-listen: " + at[1] +
		"\nhttp-listen: " + at[2] + "\n"
	m.write("etc/signalbox/signalbox.yaml", settings, 0o640)
	m.write("etc/default/signalbox", "SIGNALBOX_ENDPOINTS="+at[0]+"\n", 0o644)
	serve := func() *subprocess.Process {
		return launch(t, m.asUser("/usr/bin/signalbox", "serve", "--config", "/etc/signalbox/signalbox.yaml"))
	}
	tool := func(args ...string) string {
		t.Helper()
		return m.run(append([]string{"signalbox", "--endpoints", at[0]}, args...)...)
	}
	host := serve()
	tool("node", "create", "/kept")
	tool("semaphore", "create", "/kept", "box", "--limit", "3", "--data", "written before")
	fence := tool("lock", "/kept", "job", "--", "printenv", "SIGNALBOX_FENCE")

	m.write("running/signalbox.service", "", 0o644)
	m.askedOfSystemd()
	said := m.run(append(install, "/dist/"+filepath.Base(newer))...)
	asked := m.askedOfSystemd()
	if n := len(asked); n < 3 || asked[n-1] != "restart signalbox.service" ||
		!slices.Contains(asked, "--system daemon-reload") {
		t.Errorf("an upgrade does %q", asked)
	}
	// The drain named the host, and a single host is never drained.
	if !strings.Contains(said, "host a cannot be drained") || !strings.Contains(said, "without a drain") {
		t.Errorf("an upgrade says %s", said)
	}
	if got := m.read("etc/signalbox/signalbox.yaml"); got != settings || m.mode("/etc/signalbox/signalbox.yaml") !=
		"640 root:signalbox" {
		t.Errorf("the settings are %s by now:\n%s", m.mode("/etc/signalbox/signalbox.yaml"), got)
	}
	if err := host.Stop(patience); err != nil {
		t.Fatal(err)
	}
	host = serve()
	if got := tool("semaphore", "describe", "/kept", "box"); !strings.Contains(got, "written before") {
		t.Errorf("the data is %s", got)
	}
	again := tool("lock", "/kept", "job", "--", "printenv", "SIGNALBOX_FENCE")
	if again <= fence && len(again) <= len(fence) {
		t.Errorf("the fence was %s and is %s", fence, again)
	}
	well := func() bool {
		return m.command("signalbox", "check", "--endpoints", at[0]).Run() == nil
	}
	if err := host.Await("it is well", patience, well); err != nil {
		t.Fatal(err)
	}
	newest := m.newestLevel()
	if err := host.Await("the level of the data is on record", patience, func() bool {
		return m.there("var/lib/signalbox/level.json") &&
			strings.Contains(m.read("var/lib/signalbox/level.json"), `"level": `+newest)
	}); err != nil {
		t.Fatal(err)
	}

	refused := append(slices.Clone(install), "--force-downgrade", "/dist/"+filepath.Base(older))
	record := m.read("var/lib/signalbox/level.json")
	m.write("var/lib/signalbox/level.json", "{\n  \"content\": {\n    \"level\": 200\n  }\n}\n", 0o640)
	m.refuses(fmt.Sprintf("is of feature level 200, and this version follows levels up to %d", levelBefore), refused...)
	m.write("var/lib/signalbox/level.json", record, 0o640)
	if got := m.run("dpkg-query", "--show", "--showformat=${Version} ${Status}", "signalbox"); got !=
		"1.2.3~rc.1 install ok installed" {
		t.Errorf("after the refusal there is %s", got)
	}
	// Among the installed files only edited settings differ from the package.
	if got, _ := m.command("dpkg", "--verify", "signalbox").Output(); string(got) !=
		"??5?????? c /etc/default/signalbox\n??5?????? c /etc/signalbox/signalbox.yaml\n" {
		t.Errorf("dpkg finds\n%s", got)
	}
	if got := m.run("signalbox", "--version"); !strings.HasSuffix(got, "signalbox v1.2.3-rc.1\n") {
		t.Errorf("after the refusal the program is %s", got)
	}
	if !well() {
		t.Error("the host is not well after the refusal")
	}
	if err := host.Stop(patience); err != nil {
		t.Error(err)
	}
}

// TestPackagesOfRPMInstall: the same files by the same scripts, and settings that upgrades keep.
func TestPackagesOfRPMInstall(t *testing.T) {
	out := releaseHere(t)
	needRoot(t, "rpm")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	host := filepath.Join(out, "signalbox-1.2.3~rc.1-1."+arch+".rpm")
	m := newMachine(t, host)
	// Dependencies are ignored, because the packages of this machine are not in RPM's database.
	m.run("rpm", "--install", "--nodeps", "--nosignature", "/dist/"+filepath.Base(host))
	m.run("rpm", "--verify", "--nodeps", "signalbox")
	checkVersionOf(m)
	for file, want := range map[string]string{
		"/etc/signalbox/signalbox.yaml": "640 root:signalbox", "/var/lib/signalbox": "700 signalbox:signalbox",
		"/usr/share/zsh/site-functions/_signalbox": "644 root:root",
	} {
		if got := m.mode(file); got != want {
			t.Errorf("%s is %s, not %s", file, got, want)
		}
	}
	m.write("running/signalbox.service", "", 0o644)
	m.write("etc/signalbox/signalbox.yaml", "# edited\n", 0o640)
	m.askedOfSystemd()
	m.run("rpm", "--upgrade", "--force", "--nodeps", "--nosignature", "/dist/"+filepath.Base(host))
	if asked := m.askedOfSystemd(); !slices.Contains(asked, "restart signalbox.service") ||
		slices.Contains(asked, "--quiet disable --now signalbox.service") {
		t.Errorf("an upgrade does %q", asked)
	}
	if got := m.read("etc/signalbox/signalbox.yaml"); got != "# edited\n" {
		t.Errorf("the settings are %q by now", got)
	}
	m.write("var/lib/signalbox/level.json", "{\n  \"content\": {\n    \"level\": 200\n  }\n}\n", 0o640)
	m.refuses("is of feature level 200", "rpm", "--upgrade", "--force", "--nodeps", "--nosignature",
		"/dist/"+filepath.Base(host))
	m.run("rpm", "--erase", "signalbox")
	if asked := m.askedOfSystemd(); !slices.Contains(asked, "--quiet disable --now signalbox.service") {
		t.Errorf("a removal does %q", asked)
	}
	if m.there("usr/bin/signalbox") || !m.there("var/lib/signalbox/level.json") {
		t.Error("a removal takes the program, and leaves the data")
	}
}

// newestLevel returns the newest feature level that the installed program reports.
func (m *machine) newestLevel() string {
	m.t.Helper()
	_, level, _ := strings.Cut(m.run("signalbox", "version"), "newest level")
	return strings.TrimSpace(level)
}

// checkVersionOf compares the installed program's version with the test version.
func checkVersionOf(m *machine) {
	m.t.Helper()
	cmd := m.command("signalbox")
	checkVersion(m.t, cmd.Args...)
}
