package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// need makes tests fail instead of skip, for machines that must have all requirements.
var need = flag.Bool("need", false, "fail where something is missing that a test needs")

// missing skips a test, or fails it with -need.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if *need {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// needRoot skips or fails the test unless it runs as root and the tools are installed.
func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		missing(t, "only root may have other roots for processes")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "%s is not installed", tool)
		}
	}
}

// machine is a disposable view of this machine: changes to its files are visible only inside, and disappear with the
// test. A stub that records commands replaces systemd.
type machine struct {
	t    *testing.T
	root string // as seen by the machine's own processes
	pid  string // of a process inside
}

// systemctl records each command in systemctl.log. A unit is running if running has a file with the unit's name.
const systemctl = `#!/bin/sh
echo "$@" >>/systemctl.log
case "$*" in
*is-active*) for unit; do :; done; test -e "/running/$unit" ;;
esac
`

// newMachine makes a machine with release packages in its folder dist.
func newMachine(t *testing.T, dist ...string) *machine {
	t.Helper()
	needRoot(t, "unshare", "nsenter", "chroot", "mount")
	dir := t.TempDir()
	script := `set -e
cd "$1"
mount -t tmpfs tmpfs .
cd "$1"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mkdir -p root/dist root/running root/run/systemd/system
echo made
cat >/dev/null`
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var failed strings.Builder
	cmd.Stderr = &failed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "made\n" {
		_ = cmd.Process.Kill()
		missing(t, "this machine lets no test have files of its own: %s", failed.String())
	}
	m := &machine{t: t, root: filepath.Join(dir, "root"), pid: fmt.Sprint(cmd.Process.Pid)}
	m.write("usr/bin/systemctl", systemctl, 0o755)
	for _, file := range dist {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m.write("dist/"+filepath.Base(file), string(text), 0o644)
	}
	return m
}

// path is this process's path to a file on the machine.
func (m *machine) path(file string) string {
	return filepath.Join("/proc", m.pid, "root", m.root, file)
}

func (m *machine) write(file, text string, mode os.FileMode) {
	m.t.Helper()
	err := os.MkdirAll(filepath.Dir(m.path(file)), 0o755)
	if err == nil {
		err = os.WriteFile(m.path(file), []byte(text), mode)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(file string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(file))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// there reports whether a file exists.
func (m *machine) there(file string) bool {
	_, err := os.Lstat(m.path(file))
	return err == nil
}

// command returns a root command on the machine.
func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", m.pid, "--mount", "chroot", m.root}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C",
		"DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run runs a command that must succeed, and returns its output.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	text, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return string(text)
}

// refuses runs a command that must fail and print the given text.
func (m *machine) refuses(said string, args ...string) {
	m.t.Helper()
	text, err := m.command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(text), said) {
		m.t.Errorf("%s: %v, and not %q\n%s", strings.Join(args, " "), err, said, text)
	}
}

// askedOfSystemd returns the recorded systemctl commands since the last call.
func (m *machine) askedOfSystemd() []string {
	m.t.Helper()
	if !m.there("systemctl.log") {
		return nil
	}
	text := m.read("systemctl.log")
	if err := os.Remove(m.path("systemctl.log")); err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

// mode returns a file's mode, owner and group.
func (m *machine) mode(file string) string {
	m.t.Helper()
	return strings.TrimSpace(m.run("stat", "-c", "%a %U:%G", file))
}
