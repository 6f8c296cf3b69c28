package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// testVersion is the version of test releases.
var testVersion = version{
	number: "1.2.3-rc.1", commit: "0123456789abcdef0123456789abcdef01234567",
	date: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
}

var made struct {
	once sync.Once
	out  string
	err  error
}

// TestMain removes the release that all tests share, and discards the log: helm logs every symbolic link in the chart.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	code := m.Run()
	if made.out != "" {
		os.RemoveAll(made.out)
	}
	os.Exit(code)
}

// releaseHere builds a Linux release for this machine's processors, once for all tests, and returns its folder.
func releaseHere(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles the programs")
	}
	made.once.Do(func() {
		if made.out, made.err = os.MkdirTemp("", "release-test-"); made.err == nil {
			made.err = newJob(filepath.Join("..", ".."), made.out).run()
		}
	})
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.out
}

// withPods has the chart's pods run as processes, which takes minutes.
var withPods = flag.Bool("pods", false, "run the pods of the chart as processes, which takes minutes")

// withNPM has the npm package made and tested, which needs npm and its registry.
var withNPM = flag.Bool("npm", false, "make and test the npm package, too, which needs npm and its registry")

func newJob(root, out string) *job {
	return &job{
		root: root, out: out, version: testVersion, platforms: []string{"linux/" + runtime.GOARCH},
		withoutNPM: !*withNPM,
	}
}

// read reads a file in the release.
func read(t *testing.T, out, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// namesOf lists a folder.
func namesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// TestAReleaseMadeTwiceIsTheSame: in a second folder, from a copy of the source tree at a different path, every file
// has the same bytes.
func TestAReleaseMadeTwiceIsTheSame(t *testing.T) {
	first := releaseHere(t)
	copied, second := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "dist")
	copyTree(t, filepath.Join("..", ".."), copied)
	if err := newJob(copied, second).run(); err != nil {
		t.Fatal(err)
	}
	names := namesOf(t, first)
	if again := namesOf(t, second); !slices.Equal(names, again) {
		t.Fatalf("made are %q and %q", names, again)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, first, name), read(t, second, name)) {
			t.Errorf("%s differs", name)
		}
	}
	if err := newJob(copied, second).run(); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("files of an earlier release would be among those of the next one: %v", err)
	}
}

// copyTree copies the files that Git tracks or would add.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	list, err := exec.Command("git", "-C", from, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		t.Skipf("the source tree is no clone of Git: %v", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed
		}
		target := filepath.Join(to, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o755)
		}
		if err == nil {
			err = os.WriteFile(target, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestChecksumsAreOfAllFiles, in sha256sum --check format.
func TestChecksumsAreOfAllFiles(t *testing.T) {
	out := releaseHere(t)
	var want strings.Builder
	for _, name := range namesOf(t, out) {
		if name != sumsName {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(read(t, out, name)), name)
		}
	}
	files := 12
	if newJob("", "").withoutNPM {
		files--
	}
	if got := string(read(t, out, sumsName)); got != want.String() || strings.Count(got, "\n") != files {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

// untar returns an archive's headers and contents, by path.
func untar(t *testing.T, from io.Reader) (headers map[string]*tar.Header, contents map[string][]byte) {
	t.Helper()
	headers, contents = make(map[string]*tar.Header), make(map[string][]byte)
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return headers, contents
		}
		if err == nil {
			headers[h.Name] = h
			contents[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func gunzip(t *testing.T, packed []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestArchivesHaveAProgramThatRuns, with pages, licences, completions and the unit.
func TestArchivesHaveAProgramThatRuns(t *testing.T) {
	out := releaseHere(t)
	for product, wanted := range map[string][]string{
		"signalbox": {"LICENSE", "third-party-licences.txt", "CHANGELOG.md", "docs/install.md", "docs/cli.md",
			"docs/guides/rolling-upgrade.md",
			"completions/signalbox.bash", "completions/signalbox.zsh", "completions/signalbox.fish",
			"systemd/signalbox.service", "systemd/signalbox.yaml", "systemd/alone.yaml"},
		"signalbox-ydb": {"LICENSE", "third-party-licences.txt", "docs/ydb.md", "systemd/signalbox-ydb.service",
			"systemd/signalbox-ydb.env"},
	} {
		top := product + "_1.2.3-rc.1_linux_" + runtime.GOARCH
		headers, contents := untar(t, gunzip(t, read(t, out, top+".tar.gz")))
		for _, name := range wanted {
			if len(contents[top+"/"+name]) == 0 {
				t.Errorf("%s has no %s", top, name)
			}
		}
		for name, h := range headers {
			if !h.ModTime.Equal(testVersion.date) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
				t.Errorf("%s: %+v", name, h)
			}
		}
		program := filepath.Join(t.TempDir(), product)
		if err := os.WriteFile(program, contents[top+"/"+product], 0o755); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(program, "--version").Output()
		if err != nil || string(said) != product+" v1.2.3-rc.1\n" {
			t.Errorf("%s --version says %q, %v", product, said, err)
		}
		if product == "signalbox" {
			checkVersion(t, program)
		}
	}
}

// checkVersion compares a program's version with the test version.
func checkVersion(t *testing.T, command ...string) {
	t.Helper()
	text, err := exec.Command(command[0], append(command[1:], "version", "-o", "json")...).Output()
	var said struct {
		Version, Commit, Date string
		NewestLevel           int `json:"supported_feature_level"`
	}
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || said.Version != "v1.2.3-rc.1" || said.Commit != testVersion.commit ||
		said.Date != "2026-03-04T05:06:07Z" || said.NewestLevel != 1 {
		t.Errorf("the version is %s, %v", text, err)
	}
}

// TestMaterialsAreThoseOfTheProgram: every required module, with a checksum from go.sum, and licences.
func TestMaterialsAreThoseOfTheProgram(t *testing.T) {
	out := releaseHere(t)
	for _, p := range products {
		var bill struct {
			BOMFormat, SpecVersion string
			Metadata               struct{ Component component }
			Components             []component
		}
		if err := json.Unmarshal(read(t, out, p.name+"_1.2.3-rc.1.cdx.json"), &bill); err != nil {
			t.Fatal(err)
		}
		if bill.BOMFormat != "CycloneDX" || bill.Metadata.Component.Version != "v1.2.3-rc.1" ||
			len(bill.Components) < 8 {
			t.Errorf("%s: %+v", p.name, bill)
		}
		sums, err := os.ReadFile(filepath.Join("..", "..", p.module, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		_, contents := untar(t, gunzip(t, read(t, out, p.name+"_1.2.3-rc.1_linux_"+runtime.GOARCH+".tar.gz")))
		licences := string(contents[p.name+"_1.2.3-rc.1_linux_"+runtime.GOARCH+"/third-party-licences.txt"])
		for _, c := range bill.Components {
			if c.Name == "stdlib" || strings.HasPrefix(c.Name, "github.com/signalbox/") {
				continue
			}
			if len(c.Properties) != 1 ||
				!strings.Contains(string(sums), c.Name+" "+c.Version+" "+c.Properties[0].Value+"\n") {
				t.Errorf("%s: %+v is not what go.sum has", p.name, c)
			}
			if !strings.Contains(licences, "\n"+c.Name+" "+c.Version+" (") {
				t.Errorf("%s comes without the licence of %s", p.name, c.Name)
			}
		}
	}
}

// TestTheVersionComesFromTheTag on the commit, or else from the commit itself.
func TestTheVersionComesFromTheTag(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-03-04T05:06:07Z", "GIT_CONFIG_GLOBAL=/dev/null")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
		return strings.TrimSpace(string(text))
	}
	is := func(want string) {
		t.Helper()
		v, err := versionOf(dir)
		if err != nil || v.number != want || !v.date.Equal(testVersion.date) {
			t.Errorf("the version is %+v, %v; want %s", v, err, want)
		}
	}
	if _, err := versionOf(dir); err == nil {
		t.Error("a folder without a repository has a version")
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	plain := "0.0.0-20260304050607.g" + git("rev-parse", "HEAD")[:12]
	is(plain)
	git("tag", "stable")
	is(plain)
	git("tag", "v1.9.0")
	git("tag", "v1.10.0-rc.1")
	is("1.10.0-rc.1")
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	is(plain + ".changed")
}

// TestTheChartHasTheVersionOfTheRelease, for the chart and for the image that it starts.
func TestTheChartHasTheVersionOfTheRelease(t *testing.T) {
	_, contents := untar(t, gunzip(t, read(t, releaseHere(t), "signalbox-chart-1.2.3-rc.1.tgz")))
	text := string(contents["signalbox/Chart.yaml"])
	if !strings.Contains(text, "\nversion: 1.2.3-rc.1\n") || !strings.Contains(text, "\nappVersion: 1.2.3-rc.1\n") ||
		len(contents["signalbox/templates/hosts.yaml"]) == 0 || len(contents["signalbox/values.yaml"]) == 0 {
		t.Errorf("the chart is %s", text)
	}
}
