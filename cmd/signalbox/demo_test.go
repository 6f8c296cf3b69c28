package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// demonstration starts a demo, and returns its data directory too.
func demonstration(t *testing.T, args ...string) (s *task, temporary string) {
	t.Helper()
	skipShort(t)
	temporary = t.TempDir()
	c := exec.Command(os.Args[0], append([]string{"serve", "--demo"}, args...)...)
	c.Env = processEnvironment("TMPDIR=" + temporary)
	return launch(t, c), temporary
}

func TestADemonstrationIsAClusterThatGoesWithItsData(t *testing.T) {
	s, temporary := demonstration(t, "--demo-port", "0")
	s.says("signalbox top --admin")
	_, after, _ := strings.Cut(s.Output(), "SIGNALBOX_ENDPOINTS=")
	endpoints, _, _ := strings.Cut(after, "\n")
	hosts := strings.Split(endpoints, ",")
	if len(hosts) != 3 {
		t.Fatalf("%q", endpoints)
	}
	said := regexp.MustCompile(`127\.0\.0\.1:\d+ *`).ReplaceAllStringFunc(s.Output(), func(address string) string {
		return "ADDRESS" + strings.Repeat(" ", min(2, strings.Count(address, " ")))
	})
	said = regexp.MustCompile(`\S+/signalbox-demo-\d+`).ReplaceAllString(said, "FOLDER")
	golden(t, "demo.txt", said)

	for _, h := range hosts {
		if c := newTool(t, h).start("lock", "/demo", "job", "--create-node", "--", "sh", "-c",
			"echo $SIGNALBOX_LOCK"); c.wait(patience) != 0 || c.Output() != "job\n" {
			t.Errorf("over %s: %s", h, c.Output())
		}
	}
	for _, console := range consoles(t, s.Output()) {
		page, err := http.Get(console)
		if err != nil {
			t.Fatal(err)
		}
		page.Body.Close()
		if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			t.Errorf("the console at %s: %s, %v", console, page.Status, page.Header)
		}
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(patience); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	if s.Errors() != "" {
		t.Errorf("it complains: %s", s.Errors())
	}
}

// consoles returns the console addresses, the third column of the host table.
func consoles(t *testing.T, said string) (list []string) {
	t.Helper()
	for line := range strings.Lines(said) {
		if columns := strings.Fields(line); len(columns) == 4 && strings.HasPrefix(columns[2], "http://") {
			list = append(list, columns[2])
		}
	}
	if len(list) != 3 {
		t.Fatalf("not three consoles: %q in %s", list, said)
	}
	return list
}

// golden compares output with a file in testdata.
func golden(t *testing.T, name, said string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, _ := os.ReadFile(path); said != string(want) {
		t.Errorf("%s is not what is said; go test ./cmd/signalbox -update writes it anew:\n%s", path, said)
	}
}

func TestADemonstrationDoesNotTakeWhatOthersHave(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s, temporary := demonstration(t, "--demo-port", port)
	if code := s.wait(patience); code != cli.ExitUnavailable {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(s.Errors(), "stop the process that uses the address, or choose another port") {
		t.Errorf("it says %s", s.Errors())
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

func TestWhatDoesNotGoWithADemonstration(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--demo", "--listen", "127.0.0.1:1"},
			"--listen cannot be combined with --demo, which configures its three hosts; use --demo-port to " +
				"choose ports"},
		{[]string{"--demo-port", "1"}, "--demo-port requires --demo"},
		{[]string{"--demo", "--demo-port", "65514"},
			"--demo-port 65514 is out of range; give 1 to 65511, or 0 for free ports"},
	} {
		code, _, err := command(nil, append([]string{"serve"}, c.args...)...)
		if want := "signalbox: " + c.want + "; see signalbox help serve\n"; code != cli.ExitUsage ||
			err != want {
			t.Errorf("%v: code %d, %swant %s", c.args, code, err, want)
		}
	}
}
