package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// The time of a shard moves with its batches. When an alarm of the shard is due the leader proposes a command. When
// nothing else has moved the time for a while the leader proposes a beat, by the same command: without beats a leader
// that dies after a quiet hour would take the hour along. In a shard without alarms nothing is proposed.
//
// The leader goes by Config.Clock, so a test can make the time stand still, run fast, or run slow.

// beatAfter is how far the time of a shard may be behind its leader's estimate before the next beat: with the wait
// for the next round of the loop, the queue and a round of the log the total is within 10 s. The limit is lower early
// in a term, and close to an alarm. Early in a term the limit begins at firstBeat and grows with the part of the term
// that the log knows: if leaders come and go, and no leader stays for long, time goes on at half its pace at least.
// Close to an alarm the limit is half of the time that is left, by the log, and firstBeat at least: a short wait ends
// little later than asked although a leader dies meanwhile.
const (
	beatAfter = 9 * time.Second
	firstBeat = 500 * time.Millisecond
)

// EstimatedTime returns the time of the shard as this host estimates it while it leads, else 0.
func (r *Replica) EstimatedTime() uint64 {
	elapsed, counted := r.Pipeline.Elapsed()
	clock := r.Machine.Clock()
	if !counted || clock.Term != r.Leader().Term {
		return 0
	}
	return clock.At(elapsed)
}

// proposeDue proposes a command if an alarm is due by the time of the shard, or a beat.
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
	case late && !more && now-t.dueAt < uint64(Tick/time.Millisecond): // a command for all alarms of a tick
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

// awaken has the loop wake up early if the next alarm, at a time of the shard, is due before the next tick. Apply calls
// awaken for an alarm that the loop was not woken for.
func (r *Replica) awaken(at uint64) {
	now := r.EstimatedTime()
	if wait := time.Duration(at-min(at, now)) * time.Millisecond; now != 0 && wait < Tick {
		r.awake = at
		time.AfterFunc(wait+time.Millisecond, r.set.Wake) // the time of a shard has whole milliseconds
	}
}

// Beats returns how many commands this host has proposed only to move the time of the shard.
func (r *Replica) Beats() uint64 { return r.beats.Load() }

// raiseLevel raises the level of the shard to the level of the cluster, by one command at a time. A lost command is
// proposed again.
func (t *leaderTasks) raiseLevel() {
	r := t.r
	to := r.set.Meta.Machine.Level()
	if to <= r.Pipeline.Level() || t.raising.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.raising.Store(false) }
	r.propose(&shard.Command{Kind: shard.CmdLevel, Count: uint64(to)}, nil, done)
}
