package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var errEnded = errors.New("the host has ended")

const (
	// readyPoll is how often a host that starts is asked whether it is ready.
	readyPoll = 10 * time.Millisecond
	// stopTime is how long a host may take to stop in peace before it is killed.
	stopTime = 8 * time.Second
	// startTries is how often the start is tried: a port that was free can be taken before a host has it.
	startTries = 3
	// addressTaken is the code that a host exits with when it cannot listen.
	addressTaken = 69
)

// hosts are the processes of a cluster that lives as long as a run.
type hosts struct {
	dir    string
	each   []*host
	ending atomic.Bool
}

// host is one of them.
type host struct {
	name                string
	client, raft, admin string
	log                 string
	process             *exec.Cmd
	gone                chan struct{} // closed when it has ended
}

// startHosts starts a cluster in a directory of its own, waits until it is ready, and writes into the config
// where it is.
func startHosts(ctx context.Context, config *Config) (*hosts, error) {
	dir, err := os.MkdirTemp("", "loadgen-")
	if err != nil {
		return nil, err
	}
	binary, err := findBinary(ctx, config.Binary, dir)
	if err == nil {
		for try := 0; try < startTries; try++ {
			var x *hosts
			if x, err = launch(ctx, binary, dir, config); err == nil {
				x.tell(config)
				return x, nil
			}
			if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != addressTaken {
				break
			}
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// launch starts every host and waits until all are ready.
func launch(ctx context.Context, binary, dir string, config *Config) (*hosts, error) {
	attempt, err := os.MkdirTemp(dir, "cluster-")
	if err != nil {
		return nil, err
	}
	x := &hosts{dir: dir}
	if err := x.place(attempt, config.Hosts); err != nil {
		return nil, err
	}
	for _, h := range x.each {
		if err := h.start(binary, x.flags(h, attempt, config)); err != nil {
			return nil, errors.Join(err, x.end())
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was not ready within %v", patience))
	defer cancel()
	for _, h := range x.each {
		if err := h.awaitReady(ctx); err != nil {
			err = fmt.Errorf("%s %s: %w: %s", h.process.Path, strings.Join(h.process.Args[1:], " "), err, lastLines(h.log))
			return nil, errors.Join(err, x.end())
		}
	}
	return x, nil
}

// place gives every host its name and ports that are free.
func (x *hosts) place(dir string, n int) error {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close() // it only kept the port from being given out twice
		}
	}()
	for i := range n {
		h := &host{name: fmt.Sprintf("host-%c", 'a'+i), gone: make(chan struct{})}
		h.log = filepath.Join(dir, h.name+".log")
		for _, address := range []*string{&h.client, &h.raft, &h.admin} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			held = append(held, l)
			*address = l.Addr().String()
		}
		x.each = append(x.each, h)
	}
	return nil
}

func (x *hosts) flags(h *host, dir string, config *Config) []string {
	flags := []string{
		"serve", "--name", h.name, "--data-dir", filepath.Join(dir, h.name), "--listen", h.client,
		"--admin-listen", h.admin, "--pprof", "--log-level", "warn",
	}
	for _, other := range x.each {
		flags = append(flags, "--host", other.name+"="+other.raft)
	}
	if config.Shards > 0 {
		flags = append(flags, "--shards", fmt.Sprint(config.Shards))
	}
	return append(flags, config.ServerFlags...)
}

// tell writes into a config where the hosts are.
func (x *hosts) tell(config *Config) {
	var clients []string
	config.Admin = nil
	for _, h := range x.each {
		clients = append(clients, h.client)
		config.Admin = append(config.Admin, h.admin)
	}
	config.Endpoints = strings.Join(clients, ",")
}

// start starts the process, in a group of its own: a Ctrl-C at the terminal is for this program, which stops
// its hosts when it has done with them.
func (h *host) start(binary string, flags []string) error {
	log, err := os.Create(h.log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	h.process = exec.Command(binary, flags...)
	h.process.Stdout, h.process.Stderr = io.Discard, log
	h.process.SysProcAttr = tied()
	// What this process has in its environment for other hosts is not for these.
	h.process.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SIGNALBOX_") })
	started := make(chan error)
	go h.attend(started)
	return <-started
}

// attend starts the process and waits for its end. It keeps its thread all the time: a process that is tied to
// this one is tied to the thread that started it.
func (h *host) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := h.process.Start()
	started <- err
	if err != nil {
		return
	}
	_ = h.process.Wait() // its state tells
	close(h.gone)
}

// awaitReady asks the host again and again, because it has no other way to tell.
func (h *host) awaitReady(ctx context.Context) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		select {
		case <-h.gone:
			return fmt.Errorf("%w: %w", errEnded, &exec.ExitError{ProcessState: h.process.ProcessState})
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
		if get(ctx, "http://"+h.admin+"/health/ready", discard) == nil {
			return nil
		}
	}
}

// guard tells of hosts that end before they are to.
func (x *hosts) guard(tell func(error)) {
	for _, h := range x.each {
		go func() {
			<-h.gone
			if !x.ending.Load() {
				tell(fmt.Errorf("%s: %w (%v): %s", h.name, errEnded, h.process.ProcessState, lastLines(h.log)))
			}
		}()
	}
}

// stop ends all hosts and removes what they have written.
func (x *hosts) stop() error {
	return errors.Join(x.end(), os.RemoveAll(x.dir))
}

// end ends all processes.
func (x *hosts) end() error {
	x.ending.Store(true)
	var started []*host
	for _, h := range x.each {
		if h.process != nil && h.process.Process != nil {
			_ = h.process.Process.Signal(syscall.SIGTERM) // one that has ended needs none
			started = append(started, h)
		}
	}
	late := time.NewTimer(stopTime)
	defer late.Stop()
	var err error
	for _, h := range started {
		select {
		case <-h.gone:
		case <-late.C:
			late.Reset(0) // for the others too
			err = errors.Join(err, fmt.Errorf("%s did not stop within %v, and was killed", h.name, stopTime))
			_ = h.process.Process.Kill()
			<-h.gone
		}
	}
	return err
}

// lastLines returns the end of a host's log.
func lastLines(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
