//go:build linux

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// CrewVariable is set in the environment of a process that is to be a crew: who starts programs of this package
// calls Serve then.
const CrewVariable = "SIGNALBOX_CHAOS_CREW"

// crewPatience is how long a crew's process may take to do as it is told.
const crewPatience = 60 * time.Second

// team is a crew, wherever it works.
type team interface {
	// rest ends the programs; what they hold they keep.
	rest() error
	// leave ends the crew in peace, after rest.
	leave() error
}

// near is a crew in this process.
type near struct{ *crew }

func (n near) rest() error {
	n.crew.rest()
	return nil
}

func (n near) leave() error {
	n.crew.leave()
	return nil
}

// far is a crew in a process of its own, which dies with this one.
type far struct {
	client  int
	journal *journal
	cmd     *exec.Cmd
	cries   *os.File
	rested  chan struct{}
	gone    chan struct{} // closed when the process has ended and all that it said was heard

	mu    sync.Mutex // guards what follows
	in    io.WriteCloser
	lines *json.Encoder
}

// send starts a crew in a process of its own. What it writes to its standard error goes to a file.
func send(o Orders, j *journal, cries string) (*far, error) {
	f := &far{client: o.Client, journal: j, rested: make(chan struct{}), gone: make(chan struct{})}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("chaos: send a crew: %w", err)
	}
	f.cmd = exec.Command(program)
	f.cmd.Env = append(os.Environ(), CrewVariable+"=1")
	if f.cries, err = os.OpenFile(cries, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640); err != nil {
		return nil, fmt.Errorf("chaos: send a crew: %w", err)
	}
	f.cmd.Stderr = f.cries
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		f.in, err = f.cmd.StdinPipe()
	}
	if err == nil {
		err = process.Start(f.cmd)
	}
	if err != nil {
		_ = f.cries.Close()
		return nil, fmt.Errorf("chaos: send a crew: %w", err)
	}
	f.lines = json.NewEncoder(f.in)
	f.tell(told{Orders: &o})
	go f.hear(out)
	return f, nil
}

// tell tells the process something; one that is gone does not hear it.
func (f *far) tell(t told) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.lines.Encode(t)
}

// hear takes down what the process says, until its end.
func (f *far) hear(out io.Reader) {
	defer close(f.gone)
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var s said
		if err := lines.Decode(&s); err != nil {
			break // the end, in the middle of a line where it was killed
		}
		switch {
		case s.Entry != nil:
			f.journal.take(*s.Entry)
		case s.Write != nil:
			at, accepted := f.journal.write(s.Write.Semaphore, s.Write.Token)
			f.tell(told{Answer: &answer{s.Write.Number, at, accepted}})
		case s.Rested:
			close(f.rested)
		}
	}
	_ = f.cmd.Wait() // how it ended is known
	_ = f.cries.Close()
}

func (f *far) rest() error {
	f.tell(told{Rest: true})
	return f.await(f.rested, "rest")
}

func (f *far) leave() error {
	f.tell(told{Leave: true})
	if err := f.await(f.gone, "leave"); err != nil {
		return err
	}
	if code := f.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("chaos: the process of client %d ended with code %d", f.client, code)
	}
	return nil
}

func (f *far) await(what <-chan struct{}, name string) error {
	late := time.NewTimer(crewPatience)
	defer late.Stop()
	select {
	case <-what:
		return nil
	case <-f.gone:
		select {
		case <-what:
			return nil
		default:
		}
		return fmt.Errorf("chaos: client %d ended by itself, with code %d", f.client, f.cmd.ProcessState.ExitCode())
	case <-late.C:
		f.kill()
		return fmt.Errorf("chaos: client %d does not %s within %v", f.client, name, crewPatience)
	}
}

// kill ends the process without a word, and buries it.
func (f *far) kill() {
	at := f.journal.clock.Now()
	_ = f.cmd.Process.Kill()
	<-f.gone
	f.journal.bury(f.client, at)
}

// pause stops the process in its tracks.
func (f *far) pause() (resume func()) {
	if f.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = f.cmd.Process.Signal(syscall.SIGCONT) }
}

var _ listener = (*journal)(nil)
