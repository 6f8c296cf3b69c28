package raftlogtest

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Machine is a host's machine: a disk and an address, across all its sequential processes. Its methods may be called
// from any goroutine, and from a trap of its disk.
type Machine struct {
	// Config is the host's config. DataDir, Files, Transport and Used are set at each start.
	Config  raftlog.Config
	Address string

	network *Network
	ending  sync.WaitGroup // abruptly ended processes

	mu      sync.Mutex // guards what follows
	disk    *Disk
	used    bool
	process *Process
	opening *Process
}

// ErrEnded: the process was ended during its start.
var ErrEnded = errors.New("raftlogtest: the process was ended while it started")

// Process is one run of a host.
type Process struct {
	Host  *raftlog.Host
	Peers *transport.Transport
	ended atomic.Bool
}

// Ended reports whether the process has ended. Its remains run on for a while, without effect.
func (p *Process) Ended() bool { return p.ended.Load() }

// directory is the host's directory on its disk.
const directory = "/data"

// NewMachine returns a machine that is switched off. Its hosts' logs are dropped.
func NewMachine(n *Network, address string, config raftlog.Config) *Machine {
	config.Logger = slog.New(&n.damages)
	return &Machine{Config: config, Address: address, network: n, disk: NewDisk(directory)}
}

// Disk returns the current disk.
func (m *Machine) Disk() *Disk {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk
}

// SetBack replaces the disk of a switched-off machine by an earlier one.
func (m *Machine) SetBack(disk *Disk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disk = disk.Kill()
}

// Process returns the running process, nil if there is none.
func (m *Machine) Process() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

// DataDir is the host's data directory.
func (m *Machine) DataDir() string { return filepath.Join(directory, "host") }

// Start starts the process, with the hosts in an address book as its peers; nil: none. change, if set, changes the
// transport config.
func (m *Machine) Start(book []transport.Host, change func(*transport.Config)) (*Process, error) {
	m.mu.Lock()
	disk, c, p := m.disk, m.Config, new(Process)
	c.Used, m.opening = m.used, p
	m.mu.Unlock()
	defer disk.Hurry()()
	c.Files, c.DataDir = disk.Files(), m.DataDir()
	damaged := c.Damaged
	c.Damaged = func(err error) {
		if damaged != nil && !p.Ended() {
			damaged(err)
		}
	}
	if book != nil {
		t := transport.Config{
			Identity: transport.Identity{Host: c.Host, Incarnation: c.Incarnation, Deployment: c.Deployment},
			Hosts:    book, Logger: c.Logger,
			Listener: m.network.Listen(m.Address), Dial: m.network.Dial(m.Address),
		}
		if change != nil {
			change(&t)
		}
		p.Peers = transport.Open(t)
		c.Transport = p.Peers
	}
	host, err := raftlog.Open(c)
	if err != nil {
		if p.Peers != nil {
			p.Peers.Close()
		}
		return nil, fmt.Errorf("open host %d: %w", c.Host, err)
	}
	p.Host = host
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opening = nil; p.Ended() {
		m.ending.Go(p.close)
		return nil, ErrEnded
	}
	m.used, m.process = true, p
	return p, nil
}

// Stop ends the process in order.
func (m *Machine) Stop() {
	m.mu.Lock()
	p := m.process
	m.process = nil
	m.mu.Unlock()
	if p != nil {
		p.close()
		p.ended.Store(true)
	}
}

// close closes a process's resources.
func (p *Process) close() {
	p.Host.Close()
	if p.Peers != nil {
		p.Peers.Close()
	}
}

// PowerFailure ends the process, and keeps the part of the disk selected by draw.
func (m *Machine) PowerFailure(draw outage.Draw) {
	m.end(func(d *Disk) *Disk { return d.PowerFailure(draw) }, false)
}

// Kill ends the process, and keeps the whole disk.
func (m *Machine) Kill() { m.end((*Disk).Kill, false) }

// Damaged ends the process, and the goroutine, in a call of Config.Damaged. Other goroutines of the process that see
// the same error end too, instead of an engine panic.
func (m *Machine) Damaged(err error) {
	m.network.damages.note(err)
	m.end((*Disk).Kill, true)
	runtime.Goexit()
}

func (m *Machine) end(next func(*Disk) *Disk, hung bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.process
	for _, p := range []*Process{p, m.opening} {
		if p != nil {
			p.ended.Store(true) // first, because its further actions must not count
		}
	}
	m.network.End(m.Address)
	before := m.disk
	m.disk = next(before)
	close(before.ended)
	m.process = nil
	if p != nil && !hung {
		m.ending.Go(p.close)
	}
}

// Await waits for the end of all abruptly ended processes.
func (m *Machine) Await() { m.ending.Wait() }
