//go:build linux

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// ClientVariable is set in the environment of client processes: the main function of a program that uses this package
// then calls Serve.
const ClientVariable = "SIGNALBOX_CHAOS_CLIENT"

// commandTimeout is how long a client process may take to carry out a command.
const commandTimeout = 60 * time.Second

// clientProcess is a client's workers, in this process or in a separate one.
type clientProcess interface {
	// stopPrograms ends the programs, which keep their holdings.
	stopPrograms() error
	// close ends the client in order, after stopPrograms.
	close() error
}

// killedClient is a killed client process.
type killedClient struct{}

func (killedClient) stopPrograms() error { return nil }
func (killedClient) close() error        { return nil }

// remoteClient is a client in a separate process.
type remoteClient struct {
	*process.Process
	number  int
	record  *history.Recorder
	stopped chan struct{} // closed when its programs have ended
	gone    chan struct{} // closed when the process has ended and all its reports were read

	mu    sync.Mutex // guards what follows
	in    io.WriteCloser
	lines *json.Encoder
}

// startRemote starts a client in a separate process. Its standard error goes to a file in dir.
func startRemote(a Assignment, record *history.Recorder, dir string) (*remoteClient, error) {
	c := &remoteClient{number: a.Client, record: record, stopped: make(chan struct{}), gone: make(chan struct{})}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("chaos: start client %d: %w", a.Client, err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), ClientVariable+"=1")
	reports, out := io.Pipe()
	cmd.Stdout = out
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("chaos: start client %d: %w", a.Client, err)
	}
	if c.Process, err = process.Launch(fmt.Sprintf("client %d", a.Client), cmd); err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	c.lines = json.NewEncoder(c.in)
	c.send(command{Start: &a})
	go func() {
		<-c.Gone()
		log := filepath.Join(dir, fmt.Sprintf("client-%d-%d.log", a.Client, a.Incarnation))
		if err := os.WriteFile(log, []byte(c.Errors()), 0o640); err != nil {
			record.Note("%v", err)
		}
		_ = out.Close()
	}()
	go c.read(reports)
	return c, nil
}

// send sends a command. It is lost if the process has ended.
func (r *remoteClient) send(x command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.lines.Encode(x)
}

// read records the reports of the process until it ends.
func (re *remoteClient) read(reports io.Reader) {
	defer close(re.gone)
	lines := json.NewDecoder(bufio.NewReader(reports))
	for {
		var r clientReport
		if err := lines.Decode(&r); err != nil {
			// The process has ended, mid-line if it was killed.
			_, _ = io.Copy(io.Discard, reports)
			return
		}
		switch {
		case r.Entry != nil:
			re.record.Add(*r.Entry)
		case r.Write != nil:
			at, accepted := re.record.Write(r.Write.Semaphore, r.Write.Token)
			re.send(command{Answer: &writeAnswer{r.Write.Number, at, accepted}})
		case r.Stopped:
			close(re.stopped)
		}
	}
}

func (r *remoteClient) stopPrograms() error {
	r.send(command{Stop: true})
	return r.await(r.stopped, "stop its programs")
}

func (r *remoteClient) close() error {
	r.send(command{Close: true})
	if err := r.await(r.gone, "close"); err != nil {
		return err
	}
	if code := r.ExitCode(); code != 0 {
		return fmt.Errorf("chaos: the process of client %d ended with code %d", r.number, code)
	}
	return nil
}

func (r *remoteClient) await(what <-chan struct{}, name string) error {
	late := time.NewTimer(commandTimeout)
	defer late.Stop()
	select {
	case <-what:
		return nil
	case <-r.gone:
		select {
		case <-what:
			return nil
		default:
		}
		return fmt.Errorf("chaos: client %d ended by itself, with code %d", r.number, r.ExitCode())
	case <-late.C:
		r.kill()
		return fmt.Errorf("chaos: client %d does not %s within %v", r.number, name, commandTimeout)
	}
}

// kill implements separate.
func (r *remoteClient) kill() {
	at := r.record.Now()
	r.Kill()
	<-r.gone
	r.record.ClientDied(r.number, at)
}

// pause implements separate.
func (r *remoteClient) pause() (resume func()) {
	if r.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = r.Signal(syscall.SIGCONT) }
}

// addClient starts a client of the trial.
func (t *trial) addClient(number int, a Assignment) error {
	random := t.act.random(100 + number)
	a.Client, a.Epoch, a.Seed, a.Node, a.Grace = number, t.epoch, random.Uint64(), t.node, t.grace
	a.Gathers = t.act.gathers()
	a.Routes, a.FirstWatcher = t.network.routes[number], (number+1)*1000
	for range 3 {
		a.Watched = append(a.Watched, workload.Pick(random, targets...).Name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.startClient(a)
	if err != nil {
		return err
	}
	t.assignments, t.clients = append(t.assignments, a), append(t.clients, c)
	return nil
}

// startClient starts a client process.
func (t *trial) startClient(a Assignment) (clientProcess, error) {
	if a.Client > resident {
		return startDriven(t.drivers[a.Client-resident-1], a, t.record, t.dir)
	}
	if a.Client < localClients || a.Client == resident {
		return startWorkers(a, t.record), nil
	}
	return startRemote(a, t.record, t.dir)
}

// separate is a client in a separate process.
type separate interface {
	clientProcess
	// kill kills the process, and ends the client's beliefs.
	kill()
	// pause stops the process with SIGSTOP.
	pause() (resume func())
}

// at returns the index of a client.
func (t *trial) at(number int) int {
	return slices.IndexFunc(t.assignments, func(a Assignment) bool { return a.Client == number })
}

// remote returns a client in a separate process, or nil if killed.
func (t *trial) remote(number int) separate {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, _ := t.clients[t.at(number)].(separate)
	return c
}

// killClient kills a client in a separate process.
func (t *trial) killClient(number int, c separate) {
	t.mu.Lock()
	t.clients[t.at(number)] = killedClient{}
	t.mu.Unlock()
	c.kill()
}

// restartClient restarts a killed client.
func (t *trial) restartClient(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.at(number)
	a := &t.assignments[i]
	a.Incarnation++
	a.FirstWatcher += len(a.Watched)
	c, err := t.startClient(*a)
	if err != nil {
		t.record.Note("%v", err)
		return
	}
	t.clients[i] = c
}

// watchersOf returns the watchers of a semaphore, without killed clients.
func (t *trial) watchersOf(name string) (numbers []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, a := range t.assignments {
		if _, killed := t.clients[i].(killedClient); killed {
			continue
		}
		for n, watched := range a.Watched {
			if watched == name {
				numbers = append(numbers, a.FirstWatcher+n)
			}
		}
	}
	return numbers
}
