package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// A shard's time advances with its batches. When a shard alarm is due, the leader proposes a command. If nothing else
// has advanced the time for a while, the leader proposes a beat, with the same command: without beats, the time of a
// quiet hour would be lost if the leader failed afterwards. In a shard without alarms nothing is proposed.
//
// The leader uses Config.Clock, so a test can stop, speed up or slow down the time.

// beatAfter is how far a shard's time may lag behind its leader's estimate before the next beat: with the wait for
// the next loop round, the queue and a log round, the total is within 10 s. The limit is lower early in a term, and
// close to an alarm. Early in a term, the limit begins at firstBeat and grows with the part of the term the log
// knows: if leaders come and go and none stays for long, time still advances at least at half its pace. Close to an
// alarm, the limit is half the remaining time according to the log, and at least firstBeat: a short wait ends only
// slightly late even if a leader fails meanwhile.
const (
	beatAfter = 9 * time.Second
	firstBeat = 500 * time.Millisecond
)

// EstimatedTime returns the host's estimate of the shard's time while it leads, else 0.
func (r *Replica) EstimatedTime() uint64 {
	elapsed, counted := r.Pipeline.Elapsed()
	clock := r.Machine.Clock()
	if !counted || clock.Term != r.Leader().Term {
		return 0
	}
	return clock.At(elapsed)
}

// proposeDue proposes a command if an alarm is due by the shard's time, or if a beat is due.
func (t *leaderTasks) proposeDue(term uint64) {
	r := t.r
	at, ok := r.nextAlarm()
	elapsed, counted := r.Pipeline.Elapsed()
	c := r.Machine.Clock()
	if !ok || !counted || c.Term != term {
		return
	}
	now, known := c.At(elapsed), c.Now-c.Base
	behind := min(beatAfter, max(firstBeat, millis(min(known, (at-min(at, c.Now))/2))))
	late, more := now >= at, t.dueMore.Load()
	switch {
	case late && !more && now-t.dueAt < uint64(Tick/time.Millisecond): // one command for all alarms in a tick
		return
	case !late && now < c.Now+uint64(behind/time.Millisecond) || t.dueing.Swap(true):
		return
	case late:
		t.dueAt = now
	}
	done := func(e *shard.Effect, _ protocol.Status) {
		more := e != nil && e.Flags&shard.FlagMore != 0
		t.dueMore.Store(more)
		t.dueing.Store(false)
		if more {
			r.set.Wake()
		}
	}
	if r.propose(&shard.Command{Kind: shard.CmdDue, Term: term}, nil, done) && !late {
		r.beats.Add(1)
	}
}

// awaken wakes the loop early if the next alarm, given in shard time, is due before the next tick. Apply calls awaken
// for an alarm for which the loop was not woken yet.
func (r *Replica) awaken(at uint64) {
	now := r.EstimatedTime()
	if wait := time.Duration(at-min(at, now)) * time.Millisecond; now != 0 && wait < Tick {
		r.awake = at
		time.AfterFunc(wait+time.Millisecond, r.set.Wake) // a shard's time has whole milliseconds
	}
}

// Beats returns the number of commands the host has proposed only to advance the shard's time.
func (r *Replica) Beats() uint64 { return r.beats.Load() }

// raiseLevel raises the shard's level to the cluster's level, one command at a time. A lost command is proposed
// again.
func (t *leaderTasks) raiseLevel() {
	r := t.r
	to := r.set.Meta.Machine.Level()
	if to <= r.Pipeline.Level() || t.raising.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.raising.Store(false) }
	r.propose(&shard.Command{Kind: shard.CmdLevel, Count: uint64(to)}, nil, done)
}
