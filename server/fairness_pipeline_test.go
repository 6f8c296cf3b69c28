package server

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/shard"
)

// gate is a log whose proposals continue on the test's request.
type gate struct {
	shard.Log
	proposed chan proposed

	mu   sync.Mutex
	held bool
}

// proposed is a batch waiting at the gate.
type proposed struct {
	commands, bytes int
	acquires        int
	pass            func()
}

func (g *gate) Propose(data []byte, done func(shard.Outcome)) error {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	if !held {
		return g.Log.Propose(data, done)
	}
	data = bytes.Clone(data)
	p := proposed{bytes: len(data), pass: func() {
		if err := g.Log.Propose(data, done); err != nil {
			panic(err)
		}
	}}
	var b shard.Batch
	if err := shard.DecodeBatch(data, &b, level.Newest); err != nil {
		return err
	}
	p.commands = len(b.Commands)
	for i := range b.Commands {
		if b.Commands[i].Kind == shard.CmdAcquire {
			p.acquires++
		}
	}
	g.proposed <- p
	return nil
}

func (g *gate) hold(held bool) {
	g.mu.Lock()
	g.held = held
	g.mu.Unlock()
}

// A connection's share of a batch, next to a connection with few requests: in commands of 100 bytes, and in bytes for
// large ones. The last is the maximum number of commands per batch.
const (
	commandsPerShare = 27
	largePerBatch    = 64 << 10
	commandsPerBatch = 2048
)

func queuedAt(h *Host) int {
	commands, _ := h.set.All()[0].Pipeline.Waiting()
	return commands
}

// flood is the load from connections with many requests.
type flood struct {
	conns, requests int // requests per connection
	request         func(conn int) protocol.RequestMessage
}

// TestAConnectionThatAsksForLittleIsServedBesideThoseThatAskForMuch: a connection with few requests waits for at most a
// few small batches.
func TestAConnectionThatAsksForLittleIsServedBesideThoseThatAskForMuch(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 60_000)
	for name, c := range map[string]flood{
		"sessions": {2, 8000, func(int) protocol.RequestMessage {
			return &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000}
		}},
		"updates": {4, 100, func(conn int) protocol.RequestMessage {
			return &protocol.SemaphoreUpdate{NodeID: 1, Name: fmt.Appendf(nil, "data/%d", conn), Data: data}
		}},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testServedBeside(t, c) }) })
	}
}

// testServedBeside runs in a time bubble: heavy users are remembered for a second, and slow machines need longer.
func testServedBeside(t *testing.T, c flood) {
	g := &gate{proposed: make(chan proposed, 1000)}
	h := openShards(t, 1, func(group uint64, l shard.Log) shard.Log {
		if group == 0 {
			return l
		}
		g.Log = l
		return g
	})
	t.Cleanup(h.Close)
	greet := func() (*connection.Conn, *sink) {
		s := newSink()
		c := h.Opened(s).(*connection.Conn)
		send(c, s, &protocol.Hello{VersionMin: 1, VersionMax: 1})
		return c, s
	}
	victim, answers := greet()
	send(victim, answers, &protocol.NodeCreate{Path: []byte("/bench")})
	send(victim, answers, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	var id uint64
	h.set.All()[0].Machine.WalkSessions(0, func(v shard.SessionView) { id = uint64(v.ID) })
	for i := range c.conns {
		send(victim, answers, &protocol.SemaphoreCreate{NodeID: 1, Name: fmt.Appendf(nil, "data/%d", i),
			Limit: 1})
	}

	g.hold(true)
	encoder := protocol.NewEncoder()
	var buf bytebufferpool.ByteBuffer
	for i := range c.conns {
		flooder, _ := greet()
		buf.Reset()
		for n := range c.requests {
			encoder.Request(&buf, uint64(n+2), c.request(i))
		}
		flooder.Data(buf.B)
	}
	const rounds = 20
	for n := range uint64(rounds) {
		buf.Reset()
		encoder.Request(&buf, n+100, &protocol.Acquire{
			Mutation: protocol.Mutation{SessionID: id, Sequence: n + 1}, NodeID: 1, Name: fmt.Appendf(nil,
				"lock/%d", n),
			Count: 1, Ephemeral: true,
		})
		synctest.Wait()         // everything in flight before is applied, and new batches are held
		gone := len(g.proposed) // batches proposed before the victim's command was known
		victim.Data(buf.B)
		synctest.Wait() // the command is queued
		commands, size := 0, 0
		for found := false; !found; {
			select {
			case p := <-g.proposed:
				if gone--; gone < 0 {
					commands, size, found = commands+p.commands, size+p.bytes, p.acquires > 0
				}
				p.pass()
			case <-time.After(time.Minute):
				t.Fatalf("round %d: no batch is proposed, of %d commands that wait", n, queuedAt(h))
			}
		}
		// Two batches in flight and the next one, each with shares for both flooders and the host itself. One more may
		// have been on its way to the log before the victim's command was known.
		most, mostCommands := 3*largePerBatch+1<<20, 9*commandsPerShare+commandsPerBatch
		if commands > mostCommands || size > most {
			t.Fatalf("round %d: it is served after %d commands of %d bytes", n, commands, size)
		}
	}
	g.hold(false)
	for {
		select {
		case p := <-g.proposed:
			p.pass()
		case <-time.After(10 * time.Millisecond):
			if commands, batches := h.set.All()[0].Pipeline.Waiting(); commands+batches == 0 {
				return
			}
		}
	}
}
