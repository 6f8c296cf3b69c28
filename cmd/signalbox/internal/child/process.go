//go:build unix

package child

import (
	"os/exec"
	"sync"
	"syscall"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// Process is a running command.
type Process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	reap   chan struct{} // closed when the command may be reaped
	reaped chan struct{}

	mu   sync.Mutex // guards the fields below, and is held while a signal is sent
	gone bool       // the process id may have been reused
	once sync.Once
}

// start starts a command, with or without the terminal's foreground. Dir, Env and streams are for the command.
func start(cmd *exec.Cmd, t *terminal, foreground bool) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if foreground {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, t.fd
	}
	if err := subprocess.Start(cmd); err != nil {
		return nil, err
	}
	go p.watch()
	return p, nil
}

// watch waits for the command's end, and reaps the command once Wait allows it: until then, its id is not reused.
func (p *Process) watch() {
	awaitExit(p.cmd.Process.Pid)
	close(p.ended)
	<-p.reap
	// A failure to copy the command's input or output is not a failure of this program.
	_ = p.cmd.Wait()
	close(p.reaped)
}

// group returns the command's process group.
func (p *Process) group() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed after the command's end. Processes it started may continue to run.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal to the command's group. After Wait it does nothing.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		// The group may be empty.
		_ = syscall.Kill(-p.group(), s)
	}
}

// pass passes on a signal so that even stopped processes act on it.
func (p *Process) pass(s syscall.Signal) {
	p.Signal(s)
	p.Signal(syscall.SIGCONT)
}

// Wait waits for the command's end and returns the exit status: the exit code, or 128 plus the number of the signal
// that ended the command, as shells report.
func (p *Process) Wait() int {
	<-p.ended
	p.once.Do(func() {
		p.mu.Lock()
		p.gone = true
		p.mu.Unlock()
		close(p.reap)
		<-p.reaped
	})
	<-p.reaped
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
