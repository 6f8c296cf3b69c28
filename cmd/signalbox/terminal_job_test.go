//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/client"
)

// desk is a terminal with a shell that has job control.
type desk struct {
	*task
	keyboard *os.File
	folder   string
}

// newDesk starts a shell on a new terminal, in which signalbox is the program under test.
func newDesk(t *testing.T, address string) *desk {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	x := newTool(t, address)
	x = x.with("PATH="+linkSignalbox(t)+":"+os.Getenv("PATH"), "PS1=ready> ")
	c := exec.Command(shell, "--norc", "--noprofile", "--noediting", "-i")
	c.Env, c.Dir = processEnvironment(x.env...), x.dir
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s, keyboard := x.typedAt(c)
	t.Cleanup(func() {
		_ = keyboard.Close() // sends SIGHUP to stopped processes, too
		killSession(c.Process.Pid)
	})
	d := &desk{s, keyboard, x.dir}
	d.says("ready> ")
	return d
}

// killSession ends the processes of an operating system session. Without a hangup, they outlive the terminal.
func killSession(leader int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		// Fields after the name, which may contain spaces: state, parent, group, session.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 4 || fields[3] != strconv.Itoa(leader) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// types types at the keyboard.
func (d *desk) types(text string) {
	d.t.Helper()
	if _, err := d.keyboard.WriteString(text); err != nil {
		d.t.Fatal(err)
	}
}

// hasPrompt waits until the shell reads the terminal.
func (d *desk) hasPrompt(mark string) {
	d.t.Helper()
	d.types("echo shell-$((1+1))-" + mark + "\n")
	d.says("shell-2-" + mark)
}

// stops types the key that stops a job, for the nth time, and waits until the shell reports the stop.
func (d *desk) stops(n int) {
	d.t.Helper()
	d.types("\x1a")
	d.awaitOutput("the job is stopped", func() bool { return strings.Count(d.Output(), "  Stopped  ") == n })
}

// wrote waits until a file in the desk's folder has the text.
func (d *desk) wrote(name, text string) {
	d.t.Helper()
	d.await(name+" has "+text, func() bool { return strings.Contains(d.read(name), text) })
}

func (d *desk) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(d.folder, name)) // nil if the file does not exist yet
	return string(data)
}

func TestACommandUnderALockReadsItsTerminalWhereverItWrites(t *testing.T) {
	p, _, _ := lockPlace(t)
	d := newDesk(t, p.Client)
	const ask = "sh -c 'echo in >&2; read line; echo got $line'"
	for i, c := range []struct{ after, out string }{{"> out", "out"}, {"2> /dev/tty | tee out2 > /dev/null", "out2"},
		{"", ""}} {
		name := fmt.Sprint("x", i)
		d.types("signalbox lock /jobs " + name + " -- " + ask + " " + c.after + "\n")
		d.await(name+" is in", func() bool { return strings.Count(d.Output(), "in\r\n") == i+1 })
		d.types("hello-" + name + "\n")
		if c.out == "" {
			d.says("got hello-" + name)
		} else {
			d.wrote(c.out, "got hello-"+name)
		}
		d.hasPrompt(name)
	}
}

func TestACommandInTheBackgroundStopsWithItsJobUntilItHasTheTerminal(t *testing.T) {
	p, _, _ := lockPlace(t)
	d := newDesk(t, p.Client)
	d.types("signalbox lock /jobs x -- sh -c 'read line; echo got $line' &\n")
	d.says("the command and this process are stopped")
	// The command reports the stop before it stops. The shell continues a job only after it has noticed the stop, and
	// reports the stop before a prompt.
	prompts := 0
	d.await("the shell says that the job is stopped", func() bool {
		prompts++
		d.hasPrompt(fmt.Sprint("meanwhile-", prompts, "."))
		return strings.Contains(d.Output(), "  Stopped  ")
	})
	d.types("fg\n")
	// If the command echoes text that the shell would have taken for a command, it has the terminal.
	d.types("hello\n")
	d.says("got hello")
	d.hasPrompt("after")
}

// beating is a command that writes a heartbeat to a file without starting a process: a shell that waits for a vfork
// child cannot be stopped.
const beating = `bash -c 'exec 9<> <(:); while :; do echo $1 >> beats; read -t 0.01 -u 9; done' bash `

func TestAStoppedJobDoesNotRunUnderAnothersLock(t *testing.T) {
	for _, after := range []string{"", " > out", " | cat"} {
		t.Run("output"+after, func(t *testing.T) {
			t.Parallel()
			p, _, _ := lockPlace(t)
			d := newDesk(t, p.Client)
			d.types("signalbox lock /jobs x --session-timeout 4s -- " + beating + "1" + after + "\n")
			d.wrote("beats", "1\n1\n")
			d.stops(1)
			d.says("the command and this process are stopped")
			d.hasPrompt("meanwhile")
			stood := d.read("beats")
			// The cluster grants the lock to another command, and the first command does not run beside it.
			next := p.tool(t, "lock", "/jobs", "x", "--quiet", "--", "sh", "-c", "echo mine; exec sleep 600")
			next.says("mine")
			if now := d.read("beats"); now != stood {
				t.Errorf("%q: the stopped command has gone on beside the next owner", after)
			}
			d.types("fg\n")
			d.says("the lock x was lost: ")
			d.says("the command was killed")
			d.hasPrompt("after")
			if now := d.read("beats"); now != stood {
				t.Errorf("%q: the command was continued before it was killed", after)
			}
			next.signal(syscall.SIGTERM)
			next.wait(patience)
		})
	}
}

func TestAStoppedJobGoesOnInTime(t *testing.T) {
	p, _, _ := lockPlace(t)
	d := newDesk(t, p.Client)
	d.types("signalbox lock /jobs x --session-timeout 10m -- sh -c 'echo in; read line; echo got $line; read line; " +
		"echo then $line'\n")
	d.says("in\r\n")
	d.stops(1)
	d.hasPrompt("meanwhile")
	d.types("fg\n")
	d.types("one\n")
	d.says("got one")
	// In the background the command ends without taking the terminal from the shell.
	d.stops(2)
	d.hasPrompt("again")
	d.types("kill -INT %1; bg\n")
	d.hasPrompt("background")
	d.types("wait; echo over-$((1+1))\n")
	d.says("over-2")
	d.hasPrompt("after")
	if strings.Contains(d.Output(), "\nthen ") {
		t.Errorf("it has read what was typed at the shell: %s", d.Output())
	}
}

func TestAStoppedCommandGetsTheSignalsOfItsKeeper(t *testing.T) {
	p, _, _ := lockPlace(t)
	s := p.tool(t, "lock", "/jobs", "x", "--", "sh", "-c",
		"trap 'exit 9' TERM; kill -STOP $$; while :; do sleep 0.01; done")
	s.remarks("the command is stopped, and the lease is kept")
	s.signal(syscall.SIGCONT)
	s.remarks("the command continues")
	s.signal(syscall.SIGTERM)
	s.endsWith(9, "the command continues")
	s = p.tool(t, "lock", "/jobs", "x", "--", "sh", "-c",
		"trap 'exit 9' TERM; kill -STOP $$; while :; do sleep 0.01; done")
	s.remarks("the command is stopped, and the lease is kept")
	s.signal(syscall.SIGTERM)
	s.endsWith(9, "the command is stopped")
}

func TestACandidateWhoWaitsIsStoppedLikeAnyJob(t *testing.T) {
	p, _, box := lockPlace(t)
	s, err := box.Session(t.Context(), "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, p.Client)
	led := func(n int) func() bool {
		return func() bool { return strings.Count(d.Output(), "led-2\r\n") >= n }
	}
	d.types("signalbox elect /jobs boss --session-timeout 10m -- echo led-$((1+1))\n")
	d.awaitOutput("it leads", led(1))
	// After its second wait the command handles job control signals, and stops itself.
	lease, err := s.Semaphore("boss", client.Limit(1)).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.await("it waits", func() bool {
		x, err := box.Node("/jobs").Describe(t.Context(), "boss", client.WithWaiters())
		return err == nil && len(x.Waiters) == 1
	})
	d.stops(1)
	d.hasPrompt("meanwhile")
	before := strings.Count(d.Output(), "led-2\r\n")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.types("fg\n")
	d.awaitOutput("it leads again", led(before+1))
}
