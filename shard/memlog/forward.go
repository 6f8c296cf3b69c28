package memlog

import "github.com/signalbox/signalbox/shard"

// Forward hands a batch to the leader that this host knows, in one message that nobody repeats. It is
// lost where that message is, where no leader is known or the one that is leads no more or hands over,
// and where more than Config.MaxInFlight entries wait for a majority already.
func (l *Log) Forward(batch []byte) error {
	var err error
	l.net.do(func() { err = l.forward(batch) })
	return err
}

func (l *Log) forward(batch []byte) error {
	if l.ended {
		return shard.ErrLogClosed
	}
	if l.forwards >= l.net.cfg.MaxInFlight || l.forwardBytes+len(batch) > l.net.cfg.MaxInFlightBytes {
		return shard.ErrLogBusy
	}
	l.forwards++
	l.forwardBytes += len(batch)
	data := append(make([]byte, 0, len(batch)), batch...)
	l.onHost(func() {
		l.forwards--
		l.forwardBytes -= len(data)
		switch {
		case l.leading != nil:
			l.takeForwarded(data)
		case l.belief.Leader != 0:
			l.sendTo(l.group.replicaOn(l.belief.Leader), func(at *Log) { at.takeForwarded(data) })
		}
	})
	return nil
}

// takeForwarded appends a batch that nobody waits for, if this host leads.
func (l *Log) takeForwarded(data []byte) {
	s := l.replica.store
	if l.leading == nil || l.leading.transfer != nil || s.last()-s.commit >= uint64(l.net.cfg.MaxInFlight) {
		return
	}
	l.appendBatch(data, nil)
}
