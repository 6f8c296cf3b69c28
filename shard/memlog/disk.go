package memlog

// write does something once it would be durable on the host's disk.
func (l *Log) write(done func()) {
	h := l.host
	l.net.schedule(h.disk.draw(l.net.rng), event{host: h, log: l, anyway: true, run: func() {
		if !h.stuck {
			done()
			return
		}
		h.parked = append(h.parked, diskWrite{log: l, done: done})
		l.hanging++
		l.net.disturb()
	}})
}

// hangs tells whether the replica waits for a stuck disk.
func (l *Log) hangs() bool { return l.hanging > 0 }

// sync makes what is in the log durable. One fsync of a replica runs at a time, and takes along all
// that was written before it began.
func (l *Log) sync() {
	s := l.replica.store
	if l.syncing || s.synced >= s.last() {
		return
	}
	l.syncing, l.syncTo = true, s.last()
	l.write(l.onSynced)
}

func (l *Log) onSynced() {
	s := l.replica.store
	l.syncing = false
	s.synced = max(s.synced, l.syncTo)
	l.replica.accepts()
	if l.leading != nil {
		l.commit()
	} else {
		l.followCommit()
		if l.belief.Leader != 0 {
			l.answerMatch(l.group.replicaOn(l.belief.Leader), 0)
		}
	}
	l.sync()
}
