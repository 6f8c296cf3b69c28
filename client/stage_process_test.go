package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// realPatience is the maximum wait, in real time, for an expected event.
const realPatience = time.Minute

// processStage is a stage with real processes. Tests use the stage in turn, and leave it ready and empty.
type processStage struct {
	t      *testing.T // the current test's
	places []*process.Place
	hosts  []*process.Host // nil while the host is down

	mu    sync.Mutex // guards what follows
	conns []net.Conn // the clients' connections, for cutting
}

// processes are the started clusters, by size, with their data in the directory.
type processes struct {
	dir      string
	program  process.Program
	failed   error // error from the directory or the program
	clusters map[int]*processStage
}

// stage returns the cluster with the given size, ready.
func (p *processes) stage(t *testing.T, size int) *processStage {
	t.Helper()
	if p.dir == "" && p.failed == nil {
		p.clusters = make(map[int]*processStage)
		if p.dir, p.failed = os.MkdirTemp("", "signalbox-client-"); p.failed == nil {
			p.program, p.failed = process.Build(p.dir)
		}
	}
	check(t, p.failed)
	st := p.clusters[size]
	if st == nil {
		names := []string{"a", "b", "c"}[:size]
		places, err := process.Places(p.program, filepath.Join(p.dir, fmt.Sprint(size)), names, "--shards", "3")
		check(t, err)
		st = &processStage{places: places, hosts: make([]*process.Host, size)}
		p.clusters[size] = st
	}
	st.t = t
	st.bringAll()
	return st
}

// stop ends all clusters.
func (p *processes) stop() {
	for _, st := range p.clusters {
		for _, h := range st.hosts {
			if h != nil {
				h.Kill()
			}
		}
	}
	_ = os.RemoveAll(p.dir)
}

func (s *processStage) addresses() string { return strings.Join(process.Addresses(s.places), ",") }

func (s *processStage) size() int { return len(s.places) }

func (s *processStage) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	return conn, nil
}

// lead makes the host with most leaderships, except host, hand over its leaderships. Processes hand over only by a
// clean stop and a start.
func (s *processStage) lead(host int) {
	most, by := 0, -1
	for i, h := range s.hosts {
		if h == nil || i == host {
			continue
		}
		if n, err := h.Led(); err == nil && n > most {
			most, by = n, i
		}
	}
	if by < 0 {
		return
	}
	if err := s.hosts[by].Stop(realPatience); err != nil {
		s.t.Error(err)
	}
	s.hosts[by] = nil
	s.bring(by)
	s.ready()
}

// leaderOfMost returns the host that leads the most shards.
func (s *processStage) leaderOfMost(t *testing.T) (leader *process.Host) {
	t.Helper()
	most := 0
	for _, h := range s.hosts {
		n, err := h.Led()
		check(t, err)
		if n > most {
			most, leader = n, h
		}
	}
	return leader
}

func (s *processStage) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}

func (s *processStage) take(host int) {
	if host < len(s.hosts) && s.hosts[host] != nil {
		s.hosts[host].Kill()
		s.hosts[host] = nil
	}
}

func (s *processStage) bring(host int) {
	if host >= len(s.hosts) || s.hosts[host] != nil {
		return
	}
	h, err := s.places[host].Start()
	if err != nil {
		s.t.Fatal(err)
	}
	s.hosts[host] = h
}

func (s *processStage) bringAll() {
	for i := range s.hosts {
		s.bring(i)
	}
	s.ready()
}

func (s *processStage) ready() {
	for _, h := range s.hosts {
		if h == nil {
			continue
		}
		if err := h.AwaitReady(realPatience); err != nil {
			s.t.Error(err)
		}
	}
}

// close prepares the cluster for the next test: all hosts up, and no node.
func (s *processStage) close() {
	s.bringAll()
	if s.t.Failed() {
		for _, h := range s.hosts {
			text := h.Errors()
			s.t.Logf("host %s:\n%s", h.Place.Name, text[max(0, len(text)-2000):])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), realPatience)
	defer cancel()
	c, err := client.Open(ctx, s.addresses(), client.WithDialer(s.dial))
	if err != nil {
		s.t.Error(err)
		return
	}
	for n, err := range c.ListNodes(ctx, "") {
		if err == nil {
			err = c.DropNode(ctx, n.Path)
		}
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			s.t.Error(err)
			break
		}
	}
	if err := c.Close(); err != nil {
		s.t.Error(err)
	}
	// A host that has not learned of the drop would mistake the next test's node for the dropped node.
	for _, h := range s.hosts {
		if err := h.AwaitNodes(0, realPatience); err != nil {
			s.t.Error(err)
		}
	}
	s.cut()
}
