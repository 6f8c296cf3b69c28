package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/signalbox/signalbox/internal/subprocess"
)

const (
	// startPatience is how long a server has to be ready.
	startPatience = 60 * time.Second
	// stopTimeout bounds a server's stop before its kill.
	stopTimeout = 10 * time.Second
)

// Installation is a runnable Redis.
type Installation struct {
	Program string
	Version string
}

// Find looks for a Redis in the PATH. Its error explains the installation.
func Find() (Installation, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return Installation{}, errors.New("redis-server is not in the PATH; apt-get install redis-server brings it")
	}
	printed, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		return Installation{}, fmt.Errorf("%s does not run: %w: %.300s", program, err, printed)
	}
	return Installation{Program: program, Version: versionOf(string(printed))}, nil
}

// versionOf reads the version from "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64".
func versionOf(printed string) string {
	_, after, _ := strings.Cut(printed, "v=")
	version, _, _ := strings.Cut(after, " ")
	return strings.TrimSpace(version)
}

// Server is a running server.
type Server struct {
	Endpoint string
	process  *subprocess.Process
	ports    *subprocess.Ports
	dir      string
}

// Start starts a server with data in a new directory below dir. Non-default settings: the server logs all changes,
// syncs the log before each acknowledgement, and saves no snapshots.
func Start(ctx context.Context, in Installation, dir string) (*Server, error) {
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		return nil, err
	}
	s := &Server{Endpoint: ports.Addresses[0], ports: ports}
	if err := s.start(ctx, in, dir); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, in Installation, dir string) (err error) {
	if s.dir, err = os.MkdirTemp(dir, "redis-"); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Endpoint)
	if err != nil {
		return err
	}
	cmd := exec.Command(in.Program, "--bind", host, "--port", port, "--dir", s.dir, "--appendonly", "yes",
		"--appendfsync", "always", "--save", "", "--loglevel", "warning")
	subprocess.OwnGroup(cmd)
	if s.process, err = subprocess.Launch("Redis", cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("after %v", startPatience))
	defer cancel()
	return subprocess.AwaitAll(ctx, "Redis is not ready", []*subprocess.Process{s.process}, s.ready)
}

// ready asks the server for an answer.
func (s *Server) ready(ctx context.Context) error {
	client, err := dial(s.Endpoint, 1)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, client.B().Ping().Build()).Error()
}

// dial creates a client whose callers share the given number of connections, a power of two.
func dial(endpoint string, connections int) (rueidis.Client, error) {
	power := 0
	for 1<<power < connections {
		power++
	}
	if 1<<power != connections {
		return nil, fmt.Errorf("%d connections: the client can have 1, 2, 4, 8 and so on", connections)
	}
	multiplex := power
	if power == 0 {
		multiplex = -1 // the client replaces 0 with its default
	}
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{endpoint}, ForceSingleClient: true, DisableCache: true, PipelineMultiplex: multiplex,
	})
}

// Commands is the server's command line.
func (s *Server) Commands() [][]string { return [][]string{s.process.Args()} }

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.End(stopTimeout)
	}
	s.ports.Close()
	os.RemoveAll(s.dir)
}
