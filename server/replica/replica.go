package replica

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/mutation"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/process"
)

// Replica is the local host's replica of one data shard, with all work that the host does for the shard as leader or
// follower.
type Replica struct {
	set      *Set
	ID       uint64
	slots    shard.SlotSet // at the beginning of the log
	Machine  *machine.Machine
	end      end
	log      shard.Log // the field end, unless a test puts another log in front
	Pipeline *pipeline.Pipeline
	Leases   *lease.Table
	fresh    *freshness
	Hub      *watch.Hub
	Inboxes  *inbox.Table
	leader   leaderTasks
	digests  digests
	timeouts timeouts
	left     atomic.Int64  // when the replica here left, by Set.Since; 0 if its state is not kept
	asking   chan struct{} // has a slot for every question about a session with its home shard here

	Lookup   Lookup
	OneShots OneShotWatches
	waits    waits

	leadership atomic.Pointer[shard.Leadership]
	announced  announced
	applied    atomic.Uint64 // index of the last applied entry
	beats      atomic.Uint64 // number of proposed beats
	served     atomic.Bool   // the host could serve the shard once since host start, or the shard was added since
	commits    commitTimes

	// Used while batches are applied, by one goroutine at a time.
	batch      shard.Batch
	effects    shard.Effects
	dirty      []Conn
	awake      uint64 // the last alarm for which the loop was woken
	rebuilding bool   // the rebuild wait was not over
	// nextAlarm returns the shard time at which the next alarm is due: from the machine, unless a test replaces it.
	nextAlarm func() (at uint64, ok bool)
	results   results
	pushes

	mu sync.Mutex // guards fields in OneShots and waits, as documented there
}

// pushes are reused for every push, because an encoder takes pointers.
type pushes struct {
	granted  protocol.Granted
	timedOut protocol.TimedOut
	aborted  protocol.Aborted
	lost     lostHolding
	ended    protocol.SessionEnded
}

// atBeginning returns a machine's settings at the beginning of a shard's log. A shard that was added to the running
// cluster has no slots there.
func atBeginning(id uint64, slots shard.SlotSet) machine.Options {
	return machine.Options{Shard: id, Slots: slots, NoSlots: slots.Len() == 0, Began: machine.Bootstrap}
}

func (s *Set) newReplica(id uint64, slots shard.SlotSet) *Replica {
	m := machine.New(kinds.All(), atBeginning(id, slots))
	r := &Replica{
		set: s, ID: id, slots: slots, Machine: m,
		asking: make(chan struct{}, maxAsking),
	}
	r.Lookup = Lookup{r}
	r.OneShots = OneShotWatches{r: r, watches: shard.NewWatchSet[watchRef]()}
	r.waits.r, r.results.r = r, r
	if r.nextAlarm = m.NextAlarm; s.config.NextAlarm != nil {
		r.nextAlarm = func() (uint64, bool) { return s.config.NextAlarm(id, m) }
	}
	r.leadership.Store(&shard.Leadership{})
	r.log, r.end.mayLead = &r.end, s.mayLead
	r.Leases, _ = lease.NewTable(lease.Config{
		Grace: s.timing.grace, StallAfter: stallAfter, Halt: func(err error) { _ = s.Halt(r.broken(err)) },
	})
	r.fresh = newFreshness(r)
	r.Hub = watch.New(m, watch.Options{
		Budget: s.config.Watches, Halt: func(err error) { _ = s.Halt(r.broken(err)) },
	})
	r.Inboxes = inbox.New(inbox.Config{Machine: process.Inboxes{Machine: m}})
	r.results.init()
	r.waits.waiters.init()
	r.Pipeline = pipeline.New(pipeline.Options{
		Shard: id, Proposer: s.proposer, Delay: s.config.Delay,
		QueuedBytes: s.config.QueuedBytes, Clock: s.config.Clock, Syncs: s.config.Syncs,
	})
	r.Pipeline.Open(r.log)
	r.leader.init(r)
	r.timeouts.init(r)
	r.digests.init(s, id, func(number, sum uint64) {
		r.propose(&shard.Command{Kind: shard.CmdDigestCompare, Count: number, Sum: sum}, nil, nil)
	})
	r.noteLevel()
	return r
}

// empty resets the replica to the state before any entry was applied, unless reads may still rely on its state.
func (r *Replica) empty() error {
	if r.left.Load() != 0 {
		return errLeft
	}
	saved, err := snapshotOf(machine.New(kinds.All(), atBeginning(r.ID, r.slots)))
	if err != nil {
		return err
	}
	return r.Restore(saved)
}

// gone is called when the replica has left. Its clients are better served by remote hosts.
func (r *Replica) gone() {
	r.fresh.forget()
	r.left.Store(r.set.Clock())
	r.LeadershipChanged(shard.Leadership{Term: r.Leader().Term})
	r.Hub.End(replicaGone)
	r.OneShots.forget()
	r.waits.redirect(replicaGone)
	r.Inboxes.End(replicaGone)
}

// Leads reports whether the host believes that it leads the shard.
func (r *Replica) Leads() bool { return r.leadership.Load().Leader == r.set.config.Self.ID }

// noteLevel sets the pipeline's level to the shard's level, as far as the replica has applied its log.
func (r *Replica) noteLevel() { r.Pipeline.SetLevel(r.Machine.Level()) }

// Apply implements shard.StateMachine.
func (r *Replica) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := shard.DecodeBatch(entries[i].Data, &r.batch, r.Pipeline.Level()); err != nil {
			return r.set.Halt(fmt.Errorf("server: shard %d, entry %d: %w", r.ID, entries[i].Index, err))
		}
		var ops []pipeline.Op
		began := r.set.Now()
		if r.batch.Proposer == r.set.proposer {
			var proposed time.Time
			var err error
			if ops, proposed, err = r.Pipeline.Land(r.batch.Sequence, len(r.batch.Commands)); err != nil {
				return r.set.Halt(fmt.Errorf("server: shard %d, entry %d: %w", r.ID, entries[i].Index, err))
			}
			if ops != nil {
				r.set.metrics.Commit.Observe(int64(began.Sub(proposed)))
				r.commits.note(began, began.Sub(proposed))
			}
		}
		entries[i].Commands = len(r.batch.Commands)
		r.Machine.Apply(&r.batch, &r.effects)
		r.applied.Store(entries[i].Index)
		r.set.metrics.Applied(len(r.batch.Commands), int64(r.set.Now().Sub(began)))
		if err := r.complete(ops); err != nil {
			return r.set.Halt(err)
		}
		r.effects.Reset() // at once: a burst's memory is not kept until the next batch
		if ops != nil {
			r.Pipeline.Completed(ops)
		}
	}
	if r.rebuilding {
		r.endWait()
	}
	if at, ok := r.nextAlarm(); ok && at != r.awake {
		r.awaken(at)
	}
	r.set.Stir()
	return nil
}

// complete sends the batch's effects to the host's clients, in order. An error means that the replica must not
// continue.
func (r *Replica) complete(ops []pipeline.Op) (differs error) {
	results := 0
	for i := range r.effects.List {
		e := &r.effects.List[i]
		switch e.Kind {
		case shard.EffectResult:
			if int(e.Op) != results || results == len(r.batch.Commands) {
				return fmt.Errorf("%w: result %d in a batch with %d commands is for command %d",
					errBrokenBatch, results, len(r.batch.Commands), e.Op)
			}
			results++
			command := &r.batch.Commands[e.Op]
			switch {
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdLead:
				r.Leases.Seen(command.Term)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdSessionUpdate:
				// This is independent of which host proposed the command, and of whether a client waits for the
				// result: the client may rely on the timeout from its next attach on.
				r.Leases.SetTimeout(command.Session, millis(command.Timeout), r.set.Now())
				r.timeouts.applied(command.Timeout, command.Session)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdSessionCreate:
				if r.timeouts.applied(command.Timeout, e.Session); ops == nil {
					r.Adopt(e.Session, command.Node, millis(command.Timeout))
				}
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdLevel:
				r.noteLevel()
				r.leader.recheck() // the leader proposes the shard everything that is new in the level
			case e.Status == protocol.StatusSuccess &&
				(command.Kind == shard.CmdSlotRelease || command.Kind == shard.CmdSlotSupersede):
				r.slotGiven(command.Slot)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdDigestTake:
				r.takeDigest(command.Count)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdDigestCompare:
				differs = r.digests.compare(command.Count, command.Sum)
			case e.Status == protocol.StatusSuccess && mutation.Applied[command.Kind] != nil:
				mutation.Applied[command.Kind](r.Inboxes, command)
			}
			if ops != nil {
				r.results.complete(&ops[e.Op], command, e)
			}
		case shard.EffectGranted, shard.EffectAborted, shard.EffectTimedOut:
			r.waits.complete(e)
		case shard.EffectLost:
			if e.Object == shard.KindProcess {
				r.Inboxes.Lost(e.Session, e.Order, e.Body)
				break
			}
			r.reportLoss(e, r.abortReason(e, protocol.AbortDeleted))
		case shard.EffectInbox:
			r.Inboxes.Note(e.Session, e.Order)
		case shard.EffectChanged, shard.EffectSessionEnded:
			if r.OneShots.watching.Load() > 0 {
				r.OneShots.notify(e)
			}
			if e.Kind == shard.EffectSessionEnded {
				r.sessionEnded(e)
			}
		case shard.EffectSessionSeen:
			// The session may have ended in its home shard before it arrived here. The home shard reports a later
			// end.
			if r.Leads() {
				r.leader.suspect(e.Session)
			}
		case shard.EffectSlotLeft:
			r.slotLeft(e.Slot, e.Number)
		case shard.EffectSlotArrived:
			r.slotArrived(e.Slot, e.Number)
		case shard.EffectSlotsChanged:
			r.Leases.SlotsChanged(e.Number)
			r.placeSlot(e.Slot)
		case shard.EffectCheckHoldings:
			r.set.Sessions.checkHoldings(e.Session, r)
		case shard.EffectNodeSeen:
			if r.set.Meta.Machine.NodeAlive(e.Node) == meta.NodeIsDead {
				r.leader.recheck()
			}
		}
	}
	if results != len(r.batch.Commands) {
		return fmt.Errorf("%w: a batch with %d commands has %d results", errBrokenBatch, len(r.batch.Commands),
			results)
	}
	if r.Leads() && r.Machine.Pending() > 0 {
		r.set.Wake()
	}
	if err := r.Hub.Apply(r.effects.List, time.Now()); err != nil {
		return r.broken(err)
	}
	r.flushDirty()
	r.Inboxes.Deliver()
	return differs
}

// broken adds the shard to an error that keeps the replica from continuing.
func (r *Replica) broken(err error) error { return fmt.Errorf("server: shard %d: %w", r.ID, err) }

// errBrokenBatch is wrapped by the error for results that do not belong to their batch's commands.
var errBrokenBatch = errors.New("server: the batch results do not match the commands")

// abortReason returns why an owner or waiter lost its position. If the machine reports a deleted semaphore, the whole
// node may have been dropped.
func (r *Replica) abortReason(e *shard.Effect, by protocol.AbortReason) protocol.AbortReason {
	if by != protocol.AbortDeleted {
		return by
	}
	switch r.batch.Commands[e.Op].Kind {
	case shard.CmdNodeDrop:
		return protocol.AbortNodeDropped
	case shard.CmdContinue: // work that a deletion or a drop has begun
		if r.set.Meta.Machine.NodeAlive(e.Node) == meta.NodeIsDead {
			return protocol.AbortNodeDropped
		}
	}
	return by
}

// propose queues a command from the host itself or from a connection's source, and flushes the pipeline. done gets
// the result, or the reason why the result is unknown; done may be nil. If the queue is full, done gets OVERLOADED,
// and propose returns false.
func (r *Replica) propose(c *shard.Command, from *pipeline.Source,
	done func(e *shard.Effect, failed protocol.Status)) bool {
	if done == nil {
		done = func(*shard.Effect, protocol.Status) {}
	}
	if !r.Pipeline.Add(pipeline.Op{Source: from, Done: done}, c) {
		done(nil, protocol.StatusOverloaded)
		return false
	}
	r.Pipeline.Flush()
	return true
}

// Mark records that the connection must be flushed at the end of the batch.
func (r *Replica) Mark(c Conn) {
	if c.Mark() {
		r.dirty = append(r.dirty, c)
	}
}

// flushesHere is the number of connections for which the goroutine that applies batches makes the system calls
// itself. Waking an event loop takes longer than two or three calls, but many calls would delay the next batch.
const flushesHere = 4

// flushDirty sends the appended bytes to their connections. If another shard has marked a connection meanwhile, that
// shard's flush sends everything appended before the mark was removed.
func (r *Replica) flushDirty() {
	few := len(r.dirty) <= flushesHere
	for i, c := range r.dirty {
		c.Unmark()
		c.Flush(few)
		r.dirty[i] = nil
	}
	r.dirty = r.dirty[:0]
}

// PrepareSnapshot implements shard.StateMachine.
func (r *Replica) PrepareSnapshot() (shard.Snapshot, error) { return r.Machine.PrepareSnapshot() }

// Restore implements shard.StateMachine. Watches and waiters on the host missed some changes.
func (r *Replica) Restore(from io.Reader) error {
	restore := r.Machine.Restore
	if r.set.config.Fits != nil && r.set.config.Fits(r.Machine.Usage(0).Bytes) != nil {
		r.fresh.forget() // relaxed reads use remote hosts
		restore = r.Machine.RestoreInPlace
	}
	if err := restore(from); err != nil {
		if errors.Is(err, shard.ErrNewerFormat) {
			_ = r.set.Halt(fmt.Errorf("server: shard %d: %w", r.ID, err))
		}
		return err
	}
	r.noteLevel()
	r.OneShots.forget()
	replaced := protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the local shard replica was replaced"}
	r.waits.redirect(replaced)
	r.Inboxes.End(replaced)
	r.slotsReplaced()
	r.reportMissedEnds()
	r.rebuilding = r.groupWaits()
	r.Hub.Restored(time.Now())
	for _, x := range r.set.All() {
		x.leader.recheck() // the snapshot may have ended remote sessions there
	}
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (r *Replica) LeadershipChanged(l shard.Leadership) {
	me := r.set.config.Self.ID
	if l.Leader == me {
		r.Pipeline.Elect(l.Term) // before clients learn that the host leads
	}
	before := r.leadership.Swap(&l)
	if l.Leader != before.Leader {
		r.set.metrics.LeaderChanges.Inc()
	}
	r.set.log.Info("leadership", "shard", r.ID, "leader", l.Leader, "term", l.Term)
	r.set.requestUpkeep()
	r.set.HomeShards.led(r)
	switch {
	case l.Leader == me && (before.Leader != me || before.Term != l.Term):
		r.leader.begin(l.Term)
	case l.Leader != me && before.Leader == me:
		r.leader.end()
	}
}

// Serving reports whether the host leads the shard, with the sessions restored: sessions may attach.
func (r *Replica) Serving() bool { return r.leader.ready() }

// Confirm makes a read barrier. ok means that the replica is up to date as of the call; led means that the host may
// act as the leader.
func (r *Replica) Confirm(done func(ok, led bool)) { r.fresh.confirm(done) }

// ProofAge returns the time since the latest successful barrier began, or a very long time if there was no barrier.
func (r *Replica) ProofAge(now time.Time) time.Duration { return r.fresh.age(now) }

// Len returns the number of one-shot watches.
func (osw *OneShotWatches) Len() int64 { return osw.watching.Load() }

// AppliedIndex returns the index of the last applied entry.
func (r *Replica) AppliedIndex() uint64 { return r.applied.Load() }

// Leader returns the shard's leadership, as far as the host knows.
func (r *Replica) Leader() shard.Leadership { return *r.leadership.Load() }
