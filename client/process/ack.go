package process

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// What was handled is acknowledged by the next command of the member. It goes alone where there is none for a while, or
// where a host has no more than so much ahead of it.
const (
	ackDelay = 100 * time.Millisecond
	ackItems = 64
	ackBytes = 256 << 10
)

// acks are what hosts know of what was handled. They are guarded by the lock of the part.
type acks struct {
	sent  uint64      // the seq up to which it was acknowledged
	items int         // that were handled since
	bytes int         // of theirs
	timer *time.Timer // until it goes alone
	armed bool
	alone bool // one goes alone
}

// handled is the seq up to which all was handled. The lock is held.
func (p *part) handled() uint64 {
	switch {
	case p.handling != nil:
		return p.handling.seq - 1
	case len(p.queue) > 0:
		return p.queue[0].seq - 1
	}
	return p.received
}

// takeAck returns up to where a command is to acknowledge, 0 for nothing new.
func (p *part) takeAck() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	seq := p.handled()
	if p.ctx.Err() != nil || seq <= p.acks.sent {
		return 0
	}
	p.acks.sent, p.acks.items, p.acks.bytes = seq, 0, 0
	if p.acks.armed {
		p.acks.timer.Stop()
		p.acks.armed = false
	}
	return seq
}

// ackLost notes that a command may not have arrived that was to acknowledge.
func (p *part) ackLost(seq uint64) {
	if seq == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks.sent = min(p.acks.sent, seq-1)
	p.arm()
}

// count counts an item that was handled. The lock is held, here and below.
func (p *part) count(size int) {
	p.acks.items++
	p.acks.bytes += size
	if p.acks.items >= ackItems || p.acks.bytes >= ackBytes {
		p.ackAlone()
	}
	p.arm()
}

// arm has what was handled acknowledged in a while.
func (p *part) arm() {
	if p.acks.armed || p.ctx.Err() != nil {
		return
	}
	p.acks.armed = true
	if p.acks.timer == nil {
		p.acks.timer = time.AfterFunc(ackDelay, p.ackInTime)
	} else {
		p.acks.timer.Reset(ackDelay)
	}
}

// ackInTime is called by the timer. The lock is not held.
func (p *part) ackInTime() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks.armed = false
	p.ackAlone()
}

// ackAlone sends an acknowledgement for itself, if there is anything to say and none is under way.
func (p *part) ackAlone() {
	if p.acks.alone || p.ctx.Err() != nil || p.handled() <= p.acks.sent {
		return
	}
	p.acks.alone = true
	go p.sendAck()
}

// sendAck sends an acknowledgement, and another one where there was more to acknowledge meanwhile. The lock is not
// held.
func (p *part) sendAck() {
	_ = p.mutate(p.ctx, OpAck, 0, func(k object.Key, by protocol.Part) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.InboxAck{NodeID: k.Node, Name: k.Name, MemberID: by.MemberID, Ack: by.Ack}
		return m, &m.Mutation
	}, nil, false) // it is sent again in a while
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks.alone = false
	if p.acks.items >= ackItems || p.acks.bytes >= ackBytes {
		p.ackAlone()
	}
}
