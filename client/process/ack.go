package process

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Handled items are acknowledged by the next command of the member. If no command follows for a while, or once so many
// items or bytes were handled, the acknowledgement goes alone, so that the host does not stop pushing.
const (
	ackDelay = 100 * time.Millisecond
	ackItems = 64
	ackBytes = 256 << 10
)

// acks tracks which handled items have been acknowledged to hosts. The part's lock guards acks.
type acks struct {
	sent  uint64      // items up to this seq were acknowledged
	items int         // handled since sent
	bytes int         // of the items
	timer *time.Timer // until an acknowledgement goes alone
	armed bool
	alone bool // a separate acknowledgement is in flight
}

// handled returns the seq up to which all items were handled. The lock is held.
func (p *part) handled() uint64 {
	switch {
	case p.handling != nil:
		return p.handling.seq - 1
	case len(p.queue) > 0:
		return p.queue[0].seq - 1
	}
	return p.received
}

// takeAck returns the seq that a command should acknowledge, or 0 if nothing is new.
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

// ackLost records that a command with an acknowledgement may not have arrived.
func (p *part) ackLost(seq uint64) {
	if seq == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks.sent = min(p.acks.sent, seq-1)
	p.arm()
}

// count counts a handled item. The lock is held, here and below.
func (p *part) count(size int) {
	p.acks.items++
	p.acks.bytes += size
	if p.acks.items >= ackItems || p.acks.bytes >= ackBytes {
		p.ackAlone()
	}
	p.arm()
}

// arm has handled items acknowledged in a while.
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

// ackAlone sends an acknowledgement without a command, if there is something to acknowledge and no acknowledgement is
// in flight.
func (p *part) ackAlone() {
	if p.acks.alone || p.ctx.Err() != nil || p.handled() <= p.acks.sent {
		return
	}
	p.acks.alone = true
	go p.sendAck()
}

// sendAck sends an acknowledgement, and then a second if more was handled meanwhile. The lock is not held.
func (p *part) sendAck() {
	_ = p.command(p.ctx, OpAck, 0, func(k object.Key, by protocol.Part) protocol.MutationMessage {
		return &protocol.InboxAck{NodeID: k.Node, Name: k.Name, MemberID: by.MemberID, Ack: by.Ack}
	}) // after an error the timer sends again
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks.alone = false
	if p.acks.items >= ackItems || p.acks.bytes >= ackBytes {
		p.ackAlone()
	}
}
