package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
)

// Pipeline groups a shard's commands into batches and proposes the batches. If no batch is in flight, the queue is
// proposed immediately; otherwise the queue grows into the next batch until it is due (pace.go). So an idle shard
// adds no latency, and a busy shard shares every fsync among many commands.
//
// An acquire that the machine will queue can be delayed, because the owner must release first. While there is nothing
// else to propose, the acquire waits briefly for the next command, which may be the release. Otherwise a former
// owner's new acquire would occupy the log when the next owner releases, and every second hand-off would take two
// rounds. The same applies to a process member's command that has no effect until other members send such commands
// too: commands from members that act together share a batch.
//
// Safe for concurrent use.
type Pipeline struct {
	log      shard.Log
	clock    func() time.Time
	delay    time.Duration
	proposer uint64        // identifies batches from the current host run
	level    atomic.Uint32 // the shard's level: no command above it is proposed
	wall     atomic.Int64  // the wall clock time at which the host's clock began, in nanoseconds; 0: not known yet

	mu       sync.Mutex // guards the fields below
	sequence uint64
	queue    []Op
	bytes    []byte // the queued commands, encoded
	other    []byte // previous memory of bytes
	inflight []inflight
	spare    [][]Op // for future queues
	closed   bool
	encoded  []byte
	term     term
	urgent   atomic.Int32 // number of queued commands that cannot be delayed; set under the lock
	timer    *time.Timer  // ends the delay of the delayable commands
	delaying bool         // the timer is running
	pace     pace

	// Commands are in the queue or in the flows, never in both.
	shard  uint64 // the shard's id
	flows  flows
	own    int           // total cost of the host's own commands in the queue
	latest int64         // arrival of the latest client command; times are in the host's nanoseconds
	heavy  int64         // when a source last asked for much
	mixed  int64         // latest command from a light source while another was heavy
	epoch  uint64        // batch counter
	shared atomic.Uint64 // number of batches taken from the flows
}

// inflight is a batch that was proposed but not applied yet.
type inflight struct {
	sequence uint64
	large    bool   // with large commands
	size     int    // bytes
	whole    bool   // the batch was the whole queue
	leads    uint64 // the term that begins with the batch, usually 0
	ops      []Op
	proposed time.Time
}

// Options configures a pipeline.
type Options struct {
	Shard    uint64 // the data shard's id
	Proposer uint64 // the proposer number in all of the pipeline's batches
	// Delay is how long a delayable command waits for other commands; zero or less disables the delay.
	Delay time.Duration
	// QueuedBytes limits the commands that wait for a batch; 0 means DefaultQueuedBytes.
	QueuedBytes int
	// Syncs are the sync times of the host's log; nil: unknown.
	Syncs *metrics.Histogram
	// Clock is the host's time for batch timestamps; nil means the machine's time.
	Clock func() time.Time
}

// New returns a pipeline without a log: call Open before Flush.
func New(o Options) *Pipeline {
	p := &Pipeline{shard: o.Shard, proposer: o.Proposer, delay: o.Delay, clock: o.Clock}
	if p.clock == nil {
		p.clock = time.Now
	}
	p.pace.syncs = o.Syncs
	p.flows.init(cmp.Or(o.QueuedBytes, DefaultQueuedBytes))
	p.timer = time.AfterFunc(time.Hour, p.flushNow)
	p.timer.Stop()
	p.pace.timer = time.AfterFunc(time.Hour, p.endWait)
	p.pace.timer.Stop()
	return p
}

// Open sets the pipeline's log.
func (p *Pipeline) Open(log shard.Log) { p.log = log }

// Level returns the level of the shard's machine; no command above the level is queued.
func (p *Pipeline) Level() level.Level { return level.Level(p.level.Load()) }

// SetLevel is called when batches are applied, and at a restore.
func (p *Pipeline) SetLevel(l level.Level) { p.level.Store(uint32(l)) }

// SetWall sets the wall clock time, in nanoseconds, at which the host's clock began.
func (p *Pipeline) SetWall(nanos int64) { p.wall.Store(nanos) }

// Add queues a command. Add returns false if the queue, or the source's share, is full, or if the command is above
// the shard's level.
func (p *Pipeline) Add(o Op, c *shard.Command) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	f := p.flowOf(&o)
	if len(p.queue) >= sharedCommands || len(p.bytes) >= p.flows.most/queueShare {
		p.shareOut()
	}
	shared := p.flows.queued > 0
	if shared && !p.flows.admits(f) {
		return false
	}
	before := len(p.bytes)
	c.Level = p.Level()
	// The wall clock time is computed from the request's arrival on the host's clock: a system call for every command
	// would cost more than the rest of Add.
	switch {
	case !c.Kind.TakesTime():
	case o.Started != 0 && p.wall.Load() != 0:
		c.Time = uint64(max((p.wall.Load()+o.Started)/int64(time.Millisecond), 0))
	default:
		c.Time = field.WallMillis(time.Now())
	}
	p.bytes = shard.AppendCommand(p.bytes, c)
	if p.bytes[before] > byte(c.Level) { // a command begins with the level it needs
		p.bytes = p.bytes[:before]
		return false
	}
	o.size = int32(len(p.bytes) - before)
	if shared {
		p.flows.push(f, o, p.bytes)
		p.bytes = p.bytes[:0]
	} else {
		p.queue = append(p.queue, o)
	}
	p.classify(f, &o)
	if !o.Delayable {
		p.urgent.Add(1)
	}
	return true
}

// Urgent returns whether the queue will be proposed as soon as possible. If so, a command that is added now is not
// delayed.
func (p *Pipeline) Urgent() bool { return p.delay <= 0 || p.urgent.Load() > 0 }

// Delayed returns how many queued commands can be delayed.
func (p *Pipeline) Delayed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) + p.flows.queued - int(p.urgent.Load())
}

// Flush proposes the queue if another batch is allowed, and a queued command is urgent.
func (p *Pipeline) Flush() {
	p.mu.Lock()
	if p.Urgent() {
		p.proposeAndUnlock(nil)
		return
	}
	if len(p.queue)+p.flows.queued > 0 && len(p.inflight) == 0 && !p.delaying {
		p.delaying = true
		p.timer.Reset(p.delay) // if a batch is in flight, the queue goes with the next batch
	}
	p.mu.Unlock()
}

// endWait proposes the queue at the end of the wait for callers.
func (p *Pipeline) endWait() {
	p.mu.Lock()
	p.pace.waiting = false
	p.proposeAndUnlock(nil)
}

// flushNow proposes the queue at the end of the delay.
func (p *Pipeline) flushNow() {
	p.mu.Lock()
	p.delaying = false
	p.proposeAndUnlock(nil)
}

// Why returns the result for a command with an unknown outcome.
func Why(failed protocol.Status) *protocol.Result {
	if failed == protocol.StatusUnavailable {
		return &unavailable
	}
	return &protocol.Result{Status: failed}
}

var unavailable = protocol.Result{Status: protocol.StatusUnavailable,
	Message: "no majority confirmed the change in time; the change may have been made"}

// proposeAndUnlock proposes batches while the in-flight window allows. The lock is held; proposeAndUnlock releases
// it, and answers the failed ops and the ops that could not be proposed. If nothing is in flight, the queue is left
// empty, because no outcome would trigger another proposal.
func (p *Pipeline) proposeAndUnlock(failed []Op) {
	for !p.closed {
		first := p.term.stage == waiting
		if !first && (p.term.stage != leading || len(p.queue)+p.flows.queued == 0) {
			break
		}
		if p.full() || !p.pace.due(len(p.inflight), len(p.queue)+p.flows.queued, p.clock) {
			break
		}
		ops, bytes := p.next()
		p.pace.expected = max(p.pace.expected-len(ops), 0)
		leads := uint64(0)
		if first {
			ops, bytes, leads = p.begin(ops, bytes)
		}
		if len(ops) == 0 {
			break // the rest waits for a batch in flight
		}
		p.sequence++
		sequence, now := p.sequence, p.clock()
		p.encoded = shard.AppendGathered(p.encoded[:0], p.proposer, sequence, p.stamp(now), len(ops), bytes)
		large := len(bytes) > largeCommand &&
			slices.ContainsFunc(ops, func(o Op) bool { return o.Source != nil && o.size > largeCommand })
		p.inflight = append(p.inflight, inflight{
			sequence: sequence, ops: ops, proposed: now, large: large, leads: leads,
			size: len(bytes), whole: len(p.queue)+p.flows.queued == 0,
		})
		err := p.log.Propose(p.encoded, func(o shard.Outcome) {
			if o != shard.OutcomeApplied { // Land was called for an applied batch
				p.missed(sequence, o)
			}
		})
		if err == nil {
			break
		}
		p.inflight = p.inflight[:len(p.inflight)-1]
		p.lost(leads)
		failed = append(failed, ops...)
	}
	if p.term.stage == following && len(p.queue)+p.flows.queued > 0 {
		failed = p.drain(failed) // without a stamp they would have no effect
	}
	p.mu.Unlock()
	if len(failed) > 0 {
		fail(failed, &unavailable)
	}
}

// full returns whether the batches in flight contain as many bytes as one batch may have. So a shard's log holds at
// most two full batches that are not applied.
func (p *Pipeline) full() bool {
	size := 0
	for i := range p.inflight {
		size += p.inflight[i].size
	}
	return size >= maxBatchBytes
}

// next removes the next batch from the queue: usually the whole queue, otherwise as much as fits in one batch.
func (p *Pipeline) next() (ops []Op, bytes []byte) {
	p.epoch++
	cost := len(p.queue)*commandCost + len(p.bytes)
	if p.own > hostPerBatch || p.recently(p.mixed) && cost > flowQuantum*p.pace.scale() {
		p.shareOut()
	}
	if p.flows.queued > 0 {
		return p.nextShared()
	}
	ops = p.queue
	p.queue = nil
	if n := len(p.spare); n > 0 {
		p.queue, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	n, size := len(ops), len(p.bytes)
	if n <= maxBatchCommands && size <= maxBatchBytes {
		p.own = 0
		p.urgent.Store(0)
		if p.delaying { // later commands get their own delay
			p.timer.Stop()
			p.delaying = false
		}
	} else {
		n, size = 0, 0
		for n < len(ops) && n < maxBatchCommands && (n == 0 || size+int(ops[n].size) <= maxBatchBytes) {
			size += int(ops[n].size)
			if !ops[n].Delayable {
				p.urgent.Add(-1)
			}
			if p.flowOf(&ops[n]) == p.flows.host {
				p.own -= int(ops[n].size) + commandCost
			}
			n++
		}
		p.queue = append(p.queue, ops[n:]...)
	}
	bytes = p.bytes
	p.bytes, p.other = append(p.other[:0], bytes[size:]...), bytes
	if cap(bytes) > keptBytes { // memory from a burst
		p.other = nil
	}
	return ops[:n], bytes[:size]
}

// Land returns a batch's ops and proposal time when the pipeline's batch is being applied; nil if the ops were
// already answered. An error means that this pipeline never proposed the batch: the replica must not continue.
func (p *Pipeline) Land(sequence uint64, commands int) (ops []Op, proposed time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sequence == 0 || sequence > p.sequence {
		return nil, proposed, fmt.Errorf("pipeline: batch %d of %d is applied", sequence, p.sequence)
	}
	b := p.remove(sequence)
	if b.ops != nil {
		p.pace.note(&b, p.clock(), len(p.queue)+p.flows.queued)
	}
	if b.ops != nil && len(b.ops) != commands {
		return nil, proposed, fmt.Errorf("pipeline: batch %d has %d commands, and was proposed with %d",
			sequence, commands, len(b.ops))
	}
	if b.leads != 0 {
		p.begun(b.leads)
	}
	return b.ops, b.proposed, nil
}

// remove removes a batch from the batches in flight; the result is zero if the batch was removed before.
func (p *Pipeline) remove(sequence uint64) (b inflight) {
	for i := range p.inflight {
		if b := p.inflight[i]; b.sequence == sequence {
			p.inflight = append(p.inflight[:i], p.inflight[i+1:]...)
			return b
		}
	}
	return b
}

// Completed is called when all ops in a landed batch were answered. Completed reuses the ops' memory and proposes the
// commands that arrived meanwhile.
func (p *Pipeline) Completed(ops []Op) {
	clear(ops)
	p.mu.Lock()
	if len(p.spare) < maxInflight && cap(ops) <= keptOps {
		p.spare = append(p.spare, ops[:0])
	}
	p.proposeAndUnlock(nil)
}

// missed is called by the log with the outcome of a batch that was not applied.
func (p *Pipeline) missed(sequence uint64, o shard.Outcome) {
	p.mu.Lock()
	b := p.remove(sequence)
	p.lost(b.leads)
	failed := b.ops
	if o == shard.OutcomeUnknown && p.term.stage == leading {
		// No quorum has answered within the batch time limit. The commands that have waited for the batch would only
		// wait as long again, in a batch with the same fate.
		failed = p.drain(failed)
	}
	p.proposeAndUnlock(failed)
}

// Abandon answers everything in the queue, because the host no longer leads the shard. Batches in flight get their
// outcome from the log.
func (p *Pipeline) Abandon(why protocol.Result) {
	p.mu.Lock()
	ops := p.drain(p.endTerm())
	p.mu.Unlock()
	fail(ops, &why)
}

// drain appends the whole queue to ops, and empties the queue.
func (p *Pipeline) drain(ops []Op) []Op {
	ops = append(ops, p.queue...)
	for p.flows.queued > 0 {
		ops, p.other = p.flows.take(ops, p.other[:0], calm)
	}
	p.queue, p.bytes, p.own = nil, nil, 0
	p.urgent.Store(0)
	return ops
}

// Close makes the pipeline refuse everything.
func (p *Pipeline) Close() {
	p.mu.Lock()
	p.closed = true
	p.timer.Stop()
	p.pace.timer.Stop()
	p.mu.Unlock()
	p.Abandon(unavailable)
}

// Waiting returns the numbers of queued commands and of batches in flight.
func (p *Pipeline) Waiting() (commands, batches int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) + p.flows.queued, len(p.inflight)
}

// Shared returns the number of batches that were divided among sources.
func (p *Pipeline) Shared() uint64 { return p.shared.Load() }
