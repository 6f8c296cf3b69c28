package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

var errEnded = errors.New("the host has ended")

// stopTime is how long a host may take to stop gracefully before it is killed.
const stopTime = 8 * time.Second

// hosts are the processes of a cluster started for a run.
type hosts struct {
	dir    string
	ports  *subprocess.Ports
	each   []*host
	ending atomic.Bool
}

// host is a host in the cluster.
type host struct {
	name                string
	client, raft, admin string
	process             *subprocess.Process
}

// startHosts starts a cluster in a temporary directory, waits until the cluster is ready, and writes the addresses to
// the config.
func startHosts(ctx context.Context, config *Config) (_ *hosts, err error) {
	x := &hosts{}
	if x.dir, err = os.MkdirTemp("", "loadgen-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.stop())
		}
	}()
	binary, err := findBinary(ctx, config.Binary, x.dir)
	if err != nil {
		return nil, err
	}
	if x.ports, err = subprocess.ReservePorts(3 * config.Hosts); err != nil {
		return nil, err
	}
	for i := range config.Hosts {
		of := x.ports.Addresses[3*i:]
		x.each = append(x.each, &host{name: fmt.Sprintf("host-%c", 'a'+i), client: of[0], raft: of[1], admin: of[2]})
	}
	var processes []*subprocess.Process
	for _, h := range x.each {
		cmd := exec.Command(binary, x.flags(h, config)...)
		// Variables in this process's environment are for other hosts.
		foreign := func(v string) bool { return strings.HasPrefix(v, "SIGNALBOX_") }
		cmd.Env = slices.DeleteFunc(os.Environ(), foreign)
		subprocess.OwnGroup(cmd)
		if h.process, err = subprocess.Launch(h.name, cmd); err != nil {
			return nil, err
		}
		processes = append(processes, h.process)
	}
	ready, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	if err := subprocess.AwaitAll(ready, "the hosts are not ready", processes, x.ready); err != nil {
		return nil, fmt.Errorf("%w (%s %s)", err, binary, strings.Join(processes[0].Args()[1:], " "))
	}
	config.Admin = nil
	var clients []string
	for _, h := range x.each {
		clients, config.Admin = append(clients, h.client), append(config.Admin, h.admin)
	}
	config.Endpoints = strings.Join(clients, ",")
	return x, nil
}

// flags returns a host's arguments.
func (ho *hosts) flags(h *host, config *Config) []string {
	flags := []string{
		"serve", "--name", h.name, "--data-dir", filepath.Join(ho.dir, h.name), "--listen", h.client,
		"--admin-listen", h.admin, "--http-listen", "off", "--pprof", "--log-level", "warn",
	}
	for _, other := range ho.each {
		if len(ho.each) > 1 {
			flags = append(flags, "--initial-hosts", other.name+"="+other.raft)
		}
	}
	if config.Shards > 0 {
		flags = append(flags, "--shards", fmt.Sprint(config.Shards))
	}
	return append(flags, config.ServerFlags...)
}

// ready checks that all hosts are ready.
func (ho *hosts) ready(ctx context.Context) error {
	for _, h := range ho.each {
		if err := get(ctx, "http://"+h.admin+"/health/ready", discard); err != nil {
			return err
		}
	}
	return nil
}

// guard calls a function for every host that ends before the run.
func (ho *hosts) guard(ended func(error)) {
	for _, h := range ho.each {
		go func() {
			<-h.process.Gone()
			if !ho.ending.Load() {
				ended(fmt.Errorf("%w: %w", errEnded, h.process.Err()))
			}
		}()
	}
}

// stop ends all hosts and removes their files.
func (h *hosts) stop() error {
	h.ending.Store(true)
	errs := make([]error, len(h.each))
	_ = each(context.Background(), len(h.each), func(_ context.Context, i int) error {
		if p := h.each[i].process; p != nil {
			select {
			case <-p.Gone(): // already ended, and reported
			default:
				if p.Stop(stopTime) != nil {
					errs[i] = fmt.Errorf("%s did not stop within %v, and was killed", p.Name, stopTime)
				}
			}
			p.Kill()
		}
		return nil
	})
	if h.ports != nil {
		h.ports.Close()
	}
	return errors.Join(append(errs, os.RemoveAll(h.dir))...)
}

const (
	module  = "github.com/signalbox/signalbox"
	program = "signalbox"
)

// findBinary returns the host program: the given program, a program built from this process's module, or a program
// from the PATH. The built program is written to dir.
func findBinary(ctx context.Context, given, dir string) (string, error) {
	if given != "" {
		return exec.LookPath(given)
	}
	root, inModule := moduleRoot(ctx)
	if !inModule {
		found, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("%w; name the program with --binary, run this inside the module %s, "+
				"or name a cluster that runs with --endpoints", err, module)
		}
		return found, nil
	}
	built := filepath.Join(dir, program)
	build := exec.CommandContext(ctx, "go", "build", "-o", built, "./cmd/"+program)
	build.Dir = root
	var errs bytes.Buffer
	build.Stdout, build.Stderr = &errs, &errs
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, strings.TrimSpace(errs.String()))
	}
	return built, nil
}

// moduleRoot returns the module's directory, if the process runs inside the module and a Go toolchain is available.
func moduleRoot(ctx context.Context) (string, bool) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}").Output()
	if err != nil {
		return "", false
	}
	path, dir, ok := strings.Cut(strings.TrimSpace(string(out)), "\t")
	return dir, ok && path == module
}
