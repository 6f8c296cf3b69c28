package trace

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	peers "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// hostRoom is the stamp capacity per host, enough for over 100,000 requests.
const hostRoom = 1 << 20

// Place is a traced host's position in its cluster.
type Place struct {
	Dir    string // for its data
	Client string // address for clients
	Self   shard.HostID
	Hosts  []string // addresses for hosts, host 1 first; empty for a single host
}

// Serve runs a host on its disk and a socket, and stamps each request's points. It calls listens once the host listens.
// When the context ends, Serve stops the host and writes the stamps to file.
func Serve(ctx context.Context, at Place, file string, listens func()) error {
	r, err := NewRecorder(hostRoom)
	if err != nil {
		return err
	}
	config := raftlog.Config{
		Host: at.Self, Incarnation: incarnationOf(at.Self), DataDir: at.Dir, Deployment: 1,
		InitialMembers: at.initialMembers(),
		Logger:         slog.New(slog.DiscardHandler),
		Synced: func(took time.Duration) {
			r.Now(Synced)
			r.Before(Writing, took)
		},
	}
	if len(at.Hosts) > 1 {
		others, err := at.connect(config.Logger)
		if err != nil {
			return err
		}
		defer others.Close()
		config.Transport = others
	}
	raft, err := raftlog.Open(config)
	if err != nil {
		return err
	}
	defer raft.Close()
	core, err := server.Open(server.Config{
		ID: at.Self, Name: fmt.Sprint("traced-", at.Self), Cluster: "trace",
		ClientAddress: at.Client, RaftAddress: at.raft(),
		Hosts: slices.Sorted(maps.Keys(config.InitialMembers)), Shards: 1,
		Incarnation: config.Incarnation, Start: hosts.Start{Number: 1}, InitialMembers: config.InitialMembers,
		Logs: func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			if id == 0 {
				return raft.Start(id, sm) // the meta shard
			}
			log, err := raft.Start(id, machine{sm, r})
			if err != nil {
				return nil, err
			}
			return tappedLog{log.(*raftlog.Log), r}, nil
		},
	})
	if err != nil {
		return err
	}
	defer core.Close()
	listener, err := transport.ListenGnet(at.Client, handler{core, r}, transport.NetOptions{
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	listens()
	<-ctx.Done()
	if err := listener.Close(); err != nil {
		return err
	}
	return r.write(file)
}

// incarnationOf returns the incarnation for a traced host with a new directory.
func incarnationOf(id shard.HostID) hosts.Incarnation { return hosts.Incarnation{byte(id)} }

// raft is the host's address for other hosts; empty for a single host.
func (p Place) raft() string {
	if len(p.Hosts) == 0 {
		return p.Client
	}
	return p.Hosts[p.Self-1]
}

func (p Place) initialMembers() map[shard.HostID]hosts.Incarnation {
	initialMembers := make(map[shard.HostID]hosts.Incarnation)
	for i := range max(len(p.Hosts), 1) {
		initialMembers[shard.HostID(i+1)] = incarnationOf(shard.HostID(i + 1))
	}
	return initialMembers
}

// connect listens for other hosts.
func (p Place) connect(log *slog.Logger) (*peers.Transport, error) {
	listener, err := net.Listen("tcp", p.raft())
	if err != nil {
		return nil, err
	}
	config := peers.Config{
		Identity: peers.Identity{Host: p.Self, Incarnation: incarnationOf(p.Self), Deployment: 1},
		Listener: listener, Logger: log,
	}
	for i, address := range p.Hosts {
		id := shard.HostID(i + 1)
		config.Hosts = append(config.Hosts, peers.Host{ID: id, Incarnation: incarnationOf(id), Address: address})
	}
	return peers.Open(config), nil
}

// tappedLog stamps proposals.
type tappedLog struct {
	*raftlog.Log
	to *Recorder
}

func (l tappedLog) Propose(batch []byte, done func(shard.Outcome)) error {
	l.to.Now(Proposed)
	return l.Log.Propose(batch, done)
}

// machine stamps applied commands.
type machine struct {
	shard.StateMachine
	to *Recorder
}

func (m machine) Apply(entries []shard.Entry) error {
	m.to.Now(Applying)
	return m.StateMachine.Apply(entries)
}

// handler stamps connection reads and writes.
type handler struct {
	transport.Handler
	to *Recorder
}

// rounder is the server's interface to an event loop connection, besides transport.Conn.
type rounder interface {
	transport.Conn
	Rounds() *transport.Rounds
}

func (h handler) Opened(c transport.Conn) transport.Events {
	var tapped transport.Conn = conn{c, h.to}
	if on, ok := c.(rounder); ok {
		tapped = loopConn{conn{c, h.to}, on}
	}
	opened := h.Handler.Opened(tapped)
	if opened == nil {
		return nil
	}
	return events{opened, h.to}
}

// events stamps arriving requests.
type events struct {
	transport.Events
	to *Recorder
}

func (e events) Data(b []byte) int {
	e.to.Now(Arrived)
	return e.Events.Data(b)
}

// conn stamps answers.
type conn struct {
	transport.Conn
	to *Recorder
}

func (c conn) Send(buf *bytebufferpool.ByteBuffer) {
	c.to.Now(Answered)
	c.to.Now(Flushing)
	c.Conn.Send(buf)
}

func (c conn) Queue(buf *bytebufferpool.ByteBuffer) bool {
	c.to.Now(Answered)
	return c.Conn.Queue(buf)
}

func (c conn) Flush() {
	c.to.Now(Flushing)
	c.Conn.Flush()
}

// loopConn is a connection on an event loop.
type loopConn struct {
	conn
	on rounder
}

func (c loopConn) Rounds() *transport.Rounds { return c.on.Rounds() }
