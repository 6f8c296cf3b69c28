//go:build unix

package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Process is a command that runs.
type Process struct {
	cmd      *exec.Cmd
	terminal *terminal // nil: the command has no terminal's foreground
	ended    chan struct{}
	reap     chan struct{} // closed when the command may be reaped
	reaped   chan struct{}

	mu   sync.Mutex // guards what follows, and is held while a signal is sent
	gone bool       // the process id may be another process's
	once sync.Once
}

// Start starts a command. Its Dir, Env and streams are those that the command gets.
//
// A process is killed with its parent when the parent's thread ends that started it. So that thread is kept
// for as long as the command runs.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.terminal = foreground(cmd)
	if p.terminal != nil {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, p.terminal.fd
	}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// live is the life of the process, from its start to its being reaped.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	stopWatching := p.keepGoing()
	awaitExit(p.cmd.Process.Pid)
	stopWatching()
	close(p.ended)
	<-p.reap
	// What the command could not be told is in its state: it is not this program's failure.
	_ = p.cmd.Wait()
	close(p.reaped)
}

// Ended is closed when the command has ended. What it has started may run on.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal to the command and what it has started. After Wait it does nothing.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		// There may be nobody left in the group, which is fine.
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Wait waits for the end of the command and returns its exit status: the code that it exited with, or 128
// and the number of the signal that ended it, as shells report it.
func (p *Process) Wait() int {
	<-p.ended
	p.once.Do(func() {
		p.mu.Lock()
		p.gone = true
		p.mu.Unlock()
		close(p.reap)
		<-p.reaped
		p.terminal.takeBack()
	})
	<-p.reaped
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
