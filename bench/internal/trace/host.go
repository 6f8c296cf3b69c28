package trace

import (
	"context"
	"log/slog"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// hostRoom is how many stamps a host keeps: those of more than 100,000 requests.
const hostRoom = 1 << 20

// Serve is a host by itself, on its disk and a socket, that stamps what it does for requests. It calls a function
// when it listens. When the context ends it stops, and writes its stamps to a file.
func Serve(ctx context.Context, dir, address, file string, listens func()) error {
	r, err := NewRecorder(hostRoom)
	if err != nil {
		return err
	}
	born := hosts.Incarnation{1}
	raft, err := raftlog.Open(raftlog.Config{
		Host: 1, Incarnation: born, DataDir: dir, Deployment: 1,
		Logger: slog.New(slog.DiscardHandler),
		Synced: func(took time.Duration) {
			r.Now(Synced)
			r.Before(Writing, took)
		},
	})
	if err != nil {
		return err
	}
	defer raft.Close()
	core, err := server.Open(server.Config{
		ID: 1, Name: "traced", Cluster: "trace", ClientAddress: address, Hosts: []shard.HostID{1}, Shards: 1,
		Incarnation: born, Start: hosts.Start{Number: 1}, Founders: map[shard.HostID]hosts.Incarnation{1: born},
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
	listener, err := transport.ListenGnet(address, handler{core, r}, transport.GnetOptions{
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

// tappedLog stamps proposals.
type tappedLog struct {
	*raftlog.Log
	to *Recorder
}

func (l tappedLog) Propose(batch []byte, done func(shard.Outcome)) error {
	l.to.Now(Proposed)
	return l.Log.Propose(batch, done)
}

// machine stamps what is applied.
type machine struct {
	shard.StateMachine
	to *Recorder
}

func (m machine) Apply(entries []shard.Entry) error {
	m.to.Now(Applying)
	return m.StateMachine.Apply(entries)
}

// handler stamps what connections bring and take.
type handler struct {
	transport.Handler
	to *Recorder
}

// rounder is what the server uses of a connection on an event loop beside transport.Conn.
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

// events stamps what arrives.
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
