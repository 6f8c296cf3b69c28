package server

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/hub"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// replica is this host's copy of one data shard, and all that the host does with it: whether it leads
// the shard or follows.
type replica struct {
	host     *Host
	id       uint64
	slots    shard.SlotSet
	machine  *shard.Machine
	log      shard.Log
	pipeline *pipeline.Pipeline
	leases   *lease.Table
	fresh    *freshness
	hub      *hub.Hub
	duty     duty
	digests  digests

	leadership atomic.Pointer[shard.Leadership]
	applied    atomic.Uint64 // the index of the last entry

	// Used where batches are applied, by one goroutine at a time.
	batch   shard.Batch
	effects shard.Effects
	dirty   []*conn
	one     [1]shard.Effect
	messages

	watching atomic.Int64 // how many one-shot watches there are

	mu      sync.Mutex // guards what follows
	waiters waiters
	bound   map[shard.SessionID][]*conn // the one that the session is attached over may be among them
	watches *shard.WatchSet[watchRef]
	fired   []*conn // whose watches were fired, to be flushed when the lock is free
	timers  waiterTimers
}

// messages are reused for every answer and push, because an encoder takes pointers.
type messages struct {
	created  protocol.SemaphoreCreateAnswer
	updated  protocol.SemaphoreUpdateAnswer
	resized  protocol.SemaphoreResizeAnswer
	deleted  protocol.SemaphoreDeleteAnswer
	acquired protocol.AcquireAnswer
	released protocol.ReleaseAnswer
	granted  protocol.Granted
	timedOut protocol.TimedOut
	aborted  protocol.Aborted
	lost     protocol.HoldingLost
	ended    protocol.SessionEnded
}

func (h *Host) newReplica(id uint64, slots shard.SlotSet) *replica {
	m := shard.New(shard.Options{Slots: slots})
	r := &replica{
		host: h, id: id, slots: slots, machine: m,
		bound:   make(map[shard.SessionID][]*conn),
		watches: shard.NewWatchSet[watchRef](),
	}
	r.leadership.Store(&shard.Leadership{})
	r.leases, _ = lease.NewTable(lease.Config{Grace: h.timing.grace, StallAfter: stallAfter})
	r.fresh = newFreshness(r)
	r.hub = hub.New(m, hub.Options{Budget: h.watches})
	r.waiters.init()
	r.timers.init()
	window := pipeline.Alone
	if len(h.config.Hosts) > 1 {
		window = pipeline.Among
	}
	r.pipeline = pipeline.New(pipeline.Options{
		Shard: int(id - 1), Proposer: h.proposer, Window: window, Delay: h.config.Patience,
	})
	r.duty.init(r)
	r.initDigests()
	r.noteLevel()
	return r
}

// open gives the replica its log. From here on it is fed.
func (r *replica) open() error {
	log, err := r.host.config.Logs(r.id, r.host.metrics.countSnapshots(r.id, r))
	if err != nil {
		return fmt.Errorf("server: opening shard %d: %w", r.id, err)
	}
	r.log = log
	r.pipeline.Open(log)
	return nil
}

// leads tells whether this host believes that it leads the shard.
func (r *replica) leads() bool { return r.leadership.Load().Leader == r.host.config.ID }

// Apply implements shard.StateMachine.
func (r *replica) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := shard.DecodeBatch(entries[i].Data, &r.batch, r.currentLevel()); err != nil {
			return r.host.halt(fmt.Errorf("server: shard %d, entry %d: %w", r.id, entries[i].Index, err))
		}
		r.applied.Store(entries[i].Index)
		var ops []pipeline.Op
		began := r.host.now()
		if r.batch.Proposer == r.host.proposer {
			var proposed time.Time
			var err error
			if ops, proposed, err = r.pipeline.Land(r.batch.Sequence, len(r.batch.Commands)); err != nil {
				return r.host.halt(fmt.Errorf("server: shard %d, entry %d: %w", r.id, entries[i].Index, err))
			}
			if ops != nil {
				r.host.metrics.commit.observe(int64(began.Sub(proposed)))
			}
		}
		r.machine.Apply(&r.batch, &r.effects)
		r.host.metrics.applied(len(r.batch.Commands), int64(r.host.now().Sub(began)))
		if err := r.complete(ops); err != nil {
			return r.host.halt(err)
		}
		r.effects.Reset() // at once: what a burst took is not kept until the next batch
		if ops != nil {
			r.pipeline.Completed(ops)
		}
	}
	return nil
}

// complete tells everybody on this host what the batch brought about, in the order of its effects. An error says that
// this replica must not go on.
func (r *replica) complete(ops []pipeline.Op) (differs error) {
	results := 0
	for i := range r.effects.List {
		e := &r.effects.List[i]
		switch e.Kind {
		case shard.EffectResult:
			if int(e.Op) != results || results == len(r.batch.Commands) {
				return fmt.Errorf("%w: result %d of a batch of %d commands is for command %d",
					errBrokenBatch, results, len(r.batch.Commands), e.Op)
			}
			results++
			command := &r.batch.Commands[e.Op]
			switch {
			case e.Flags&shard.FlagQueued != 0:
				r.queued(command, e)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdLead:
				r.leases.Seen(command.Term)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdSessionUpdate:
				// Whoever proposed it, and whether or not anybody still waits: the client may take the
				// timeout for granted that it finds at its next attach.
				r.leases.SetTimeout(command.Session, millis(command.Timeout), r.host.now())
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdSessionCreate && ops == nil:
				r.host.timing.steady.RLock()
				r.leases.Restore(e.Session, command.Node, millis(command.Timeout), r.host.now())
				r.host.timing.steady.RUnlock()
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdLevel:
				r.noteLevel()
				r.duty.look() // the leader has to give the shard what came with the level
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdDigestTake:
				r.takeDigest(command.Count)
			case e.Status == protocol.StatusSuccess && command.Kind == shard.CmdDigestCompare:
				differs = r.digests.compare(command.Count, command.Sum)
			}
			if ops != nil {
				r.result(&ops[e.Op], command, e)
			}
		case shard.EffectGranted, shard.EffectAborted, shard.EffectTimedOut:
			r.settled(e)
		case shard.EffectLost:
			r.holdingLost(e, r.overtaken(e, protocol.AbortDeleted))
		case shard.EffectChanged:
			r.noticed(e)
		case shard.EffectSessionEnded:
			r.noticed(e)
			r.sessionEnded(e)
		case shard.EffectSessionSeen:
			// Its home may have ended it before it came here. An end that comes later is told by the home.
			if r.leads() {
				r.duty.suspect(e.Session)
			}
		case shard.EffectNodeSeen:
			if r.host.meta.machine.NodeAlive(e.Node) == nodeDead {
				r.duty.look()
			}
		}
	}
	if results != len(r.batch.Commands) {
		return fmt.Errorf("%w: a batch of %d commands has %d results", errBrokenBatch, len(r.batch.Commands), results)
	}
	if r.leads() && r.machine.Pending() > 0 {
		r.host.wake()
	}
	r.hub.Apply(r.effects.List, time.Now())
	r.flushDirty()
	return differs
}

// errBrokenBatch is wrapped by the error about results that do not belong to the commands of their batch.
var errBrokenBatch = errors.New("server: the results of a batch are not those of its commands")

// overtaken is why an owner or a waiter lost its place: where the machine says that the semaphore was deleted it may have
// been with the whole node.
func (r *replica) overtaken(e *shard.Effect, by protocol.AbortReason) protocol.AbortReason {
	if by != protocol.AbortDeleted {
		return by
	}
	switch r.batch.Commands[e.Op].Kind {
	case shard.CmdNodeDrop:
		return protocol.AbortNodeDropped
	case shard.CmdContinue: // of what either of the two has begun
		if r.host.meta.machine.NodeAlive(e.Node) == nodeDead {
			return protocol.AbortNodeDropped
		}
	}
	return by
}

// waitsElsewhere is the answer to an acquire that waits, when its session has been taken away from the connection: who
// was told of that before would wait for an outcome that never comes.
var waitsElsewhere = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the session does not act over this connection any more; its place in the queue stays",
}

// result answers one request.
func (r *replica) result(o *pipeline.Op, command *shard.Command, e *shard.Effect) {
	if o.Caller == nil {
		o.Done(e, 0)
		return
	}
	c := o.Caller.(*conn)
	if e.Status != protocol.StatusSuccess {
		c.Fail(o.Request, o.Kind, r.refused(command, e))
		r.mark(c)
		return
	}
	switch o.Kind {
	case protocol.KindAcquire:
		r.acquired = protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
		queued := e.Flags&shard.FlagQueued != 0
		switch {
		case queued:
			r.acquired.Outcome = protocol.Queued
		case e.Flags&shard.FlagAcquired != 0:
			r.acquired.Outcome = protocol.Acquired
		}
		if !queued {
			c.answer(o.Request, &r.acquired)
			break
		}
		if !c.answerBound(command.Session, o.Request, &r.acquired) {
			c.Fail(o.Request, o.Kind, &waitsElsewhere)
			r.mark(c)
			return
		}
		// After the answer: from here on others may push the outcome.
		r.wait(command.Session, waiting{number: command.Number, conn: c, request: o.Request, since: o.Started})
	case protocol.KindRelease:
		r.released.Released = e.Flags&shard.FlagReleased != 0
		c.answer(o.Request, &r.released)
	case protocol.KindSemaphoreCreate:
		r.created.Revision = uint64(e.Revision)
		c.answer(o.Request, &r.created)
	case protocol.KindSemaphoreUpdate:
		r.updated.Revision = uint64(e.Revision)
		c.answer(o.Request, &r.updated)
	case protocol.KindSemaphoreResize:
		r.resized.Revision = uint64(e.Revision)
		c.answer(o.Request, &r.resized)
	case protocol.KindSemaphoreDelete:
		c.answer(o.Request, &r.deleted)
	}
	r.host.metrics.answered(o.Kind, r.host.clock()-o.Started)
	r.mark(c)
}

// mark remembers to flush the connection when the batch is through.
func (r *replica) mark(c *conn) {
	if c.marked.CompareAndSwap(false, true) {
		r.dirty = append(r.dirty, c)
	}
}

// flushesHere is for how many connections the goroutine that applies batches makes the system calls itself. To wake an event loop
// takes longer than two or three of them, but where there are many the next batch would wait for them.
const flushesHere = 4

// flushDirty sends what was appended to connections. A connection that another shard marked meanwhile
// is flushed there: what was appended before the mark is lifted goes out with that flush.
func (r *replica) flushDirty() {
	few := len(r.dirty) <= flushesHere
	for i, c := range r.dirty {
		c.marked.Store(false)
		c.Flush(few)
		r.dirty[i] = nil
	}
	r.dirty = r.dirty[:0]
}

// PrepareSnapshot implements shard.StateMachine.
func (r *replica) PrepareSnapshot() (shard.Snapshot, error) { return r.machine.PrepareSnapshot() }

// Restore implements shard.StateMachine. Whoever watched or waited here missed something.
func (r *replica) Restore(from io.Reader) error {
	if err := r.machine.Restore(from); err != nil {
		if errors.Is(err, shard.ErrNewerFormat) {
			_ = r.host.halt(fmt.Errorf("server: shard %d: %w", r.id, err))
		}
		return err
	}
	r.noteLevel()
	r.forgetWatches()
	r.disown(protocol.Result{Status: protocol.StatusUnavailable, Message: "this host's copy of the shard was replaced"})
	r.tellMissed()
	r.hub.Restored(time.Now())
	r.duty.look()
	return nil
}

// tellMissed tells the connections that sessions are bound to of those whose end came with a snapshot.
func (r *replica) tellMissed() {
	var over []shard.SessionID
	r.mu.Lock()
	for id := range r.bound {
		if r.machine.Liveness(id) == shard.Dead {
			over = append(over, id)
		}
	}
	r.mu.Unlock()
	for _, id := range over {
		r.sessionEnded(&shard.Effect{Kind: shard.EffectSessionEnded, Session: id})
	}
	r.flushDirty()
}

// LeadershipChanged implements shard.StateMachine.
func (r *replica) LeadershipChanged(l shard.Leadership) {
	before := r.leadership.Swap(&l)
	if l.Leader != before.Leader {
		r.host.metrics.leaders.Inc()
	}
	r.host.log.Info("leadership", "shard", r.id, "leader", l.Leader, "term", l.Term)
	me := r.host.config.ID
	r.host.routes.changed()
	switch {
	case l.Leader == me && (before.Leader != me || before.Term != l.Term):
		r.duty.begin(l.Term)
	case l.Leader != me && before.Leader == me:
		r.duty.end()
	}
}

// lead is for messages to clients: who leads, as far as this host knows.
func (h *Host) movedResult(r *replica) protocol.Result {
	l := r.leadership.Load()
	if l.Leader == 0 || l.Leader == h.config.ID {
		return protocol.Result{Status: protocol.StatusUnavailable, Message: "the shard has no leader at the moment", WaitMillis: 20}
	}
	return protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
		ShardID: r.id, LeaderHostID: uint64(l.Leader), LeaderAddress: h.routes.address(l.Leader),
		RoutingVersion: h.routes.version(),
	}}
}
