package process

import (
	"bytes"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// Take implements session.InboxReader: ends of exchanges go to waiting calls, all other items into the queue. Round
// contexts end here, even while earlier queue items are being handled.
func (p *part) Take(items *protocol.Items) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range items.All() {
		if m.Seq > p.received && p.ctx.Err() == nil {
			p.received = m.Seq
			p.take(&m)
		}
	}
	p.wakeUp()
}

// take takes an item. The lock is held, here and below.
func (p *part) take(m *protocol.Item) {
	it := &item{seq: m.Seq, kind: m.Kind, epoch: m.Epoch, bytes: len(m.Payload), round: p.roundOf(m.Epoch)}
	codec := p.member.config.codec
	switch m.Kind {
	case kind.ItemPrepare:
		p.endRounds(m.Epoch - 1)
		p.newest = newRound(p, m)
		it.round = p.newest
	case kind.ItemCancel:
		p.endRounds(m.Epoch)
	case kind.ItemRequest:
		it.request = &Request{
			From: m.From, Payload: payloadOf(m.Payload, codec), round: it.round, exchange: m.Exchange,
		}
	case kind.ItemComplete:
		it.result = &Result{
			Result:  kind.Result{Epoch: m.Epoch, Size: len(m.Payload)},
			Payload: payloadOf(m.Payload, codec),
		}
		if it.round != nil && !it.round.isComplete() {
			close(it.round.completed)
		}
	case kind.ItemEnd:
		p.takeEnd(m)
		p.count(endBytes(m))
		return
	}
	p.queue = append(p.queue, it)
}

func payloadOf(data []byte, codec Codec) Payload { return Payload{bytes.Clone(data), codec} }

func endBytes(m *protocol.Item) int { return m.Replies.Size() }

// roundOf returns the member's round for an epoch, or nil.
func (p *part) roundOf(epoch uint64) *Round {
	if p.newest != nil && p.newest.epoch == epoch {
		return p.newest
	}
	return nil
}

// endRounds ends all rounds up to an epoch and forgets their exchanges that no call waits for.
func (p *part) endRounds(epoch uint64) {
	if r := p.newest; r != nil && r.epoch <= epoch {
		r.end(ErrCancelled)
	}
	for id, e := range p.endings {
		if e.exchange == nil && e.got.Epoch <= epoch {
			delete(p.endings, id)
		}
	}
}

// takeEnd takes a section of an exchange's end, which can arrive before the answer with the exchange id.
func (p *part) takeEnd(m *protocol.Item) {
	e := p.endings[m.Exchange]
	if e == nil {
		e = &ending{}
		p.endings[m.Exchange] = e
	}
	e.add(m, p.member.config.codec)
	p.deliver(m.Exchange, e)
}

// register connects an exchange id with current and future sections of its end. The lock is not held.
func (p *part) register(id uint64, x *Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.endings[id]
	if e == nil {
		e = &ending{}
		p.endings[id] = e
	}
	e.exchange = x
	p.deliver(id, e)
}

// deliver passes received sections to an exchange, once known. The lock is held.
func (p *part) deliver(id uint64, e *ending) {
	if e.exchange == nil {
		return
	}
	e.end(e.exchange)
	if e.last {
		delete(p.endings, id)
	}
}
