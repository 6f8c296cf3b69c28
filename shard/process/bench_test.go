package process

import (
	"bytes"
	"testing"

	kind "github.com/signalbox/signalbox/protocol/process"
)

// BenchmarkBroadcast is one 1 KiB broadcast to 1,000 members, all 1 KiB replies, and all acks.
func BenchmarkBroadcast(b *testing.B) {
	c := newCrowd(b, 1000)
	c.ackAll()
	payload, data := bytes.Repeat([]byte("p"), 1024), bytes.Repeat([]byte("r"), 1024)
	b.ReportAllocs()
	for b.Loop() {
		exchange := c.broadcast(payload).Exchange
		for _, m := range c.list {
			c.reply(m, exchange, data)
			c.Ack(c.at(), m, m.lastSeq)
		}
		c.Ack(c.at(), c.list[0], c.list[0].lastSeq)
	}
	if len(c.exchanges) != 0 {
		b.Fatal("exchanges are left")
	}
}

// BenchmarkSend is the broadcast alone.
func BenchmarkSend(b *testing.B) {
	c := newCrowd(b, 1000)
	c.ackAll()
	payload := bytes.Repeat([]byte("p"), 1024)
	b.ReportAllocs()
	for b.Loop() {
		c.broadcast(payload)
		b.StopTimer()
		for _, m := range c.list {
			c.reply(m, c.lastExchange, nil)
		}
		c.ackAll()
		b.StartTimer()
	}
}

// BenchmarkReply is one reply among 1,000.
func BenchmarkReply(b *testing.B) {
	c := newCrowd(b, 1000)
	c.ackAll()
	data := bytes.Repeat([]byte("r"), 1024)
	b.ReportAllocs()
	n := len(c.list)
	for b.Loop() {
		if n == len(c.list) {
			b.StopTimer()
			c.ackAll()
			c.broadcast(nil)
			n = 0
			b.StartTimer()
		}
		c.reply(c.list[n], c.lastExchange, data)
		n++
	}
}

// BenchmarkEpoch is the change between epochs with 1,000 members, in the middle of a round: the old epoch's end, the
// opening, and all prepares.
func BenchmarkEpoch(b *testing.B) {
	c := newCrowd(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		c.broadcast(nil)
		c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
		c.turn()
	}
}

// BenchmarkOpen is the one command in an epoch change that touches all members.
func BenchmarkOpen(b *testing.B) {
	c := newCrowd(b, kind.MaxMembers)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for _, m := range c.list {
			c.Prepared(c.at(), m, c.Epoch())
		}
		c.broadcast(nil)
		c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
		c.now += 10_000
		b.StartTimer()
		c.Process.Due(c.at())
	}
}
