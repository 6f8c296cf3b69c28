package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// pipeline gathers the commands of one shard into batches and proposes them. While fewer than window are under way
// what is queued goes out at once; otherwise it grows into the next batch. So an idle shard adds no waiting, and a
// busy one shares each fsync among many.
//
// An acquire that will be queued has time: whoever owns must release first. While there is nothing else to propose it
// waits, for a little while, for what comes next, which may be that release. Without this the new acquire of a former
// owner would occupy the log when the next owner releases, and every second hand-off would take two rounds.
//
// What is queued goes out in the order in which it came, as long as that is fair. Where one connection asks for much
// at a time and another one for little, or where much is queued, the queue is shared out (flows).
type pipeline struct {
	log      shard.Log
	window   int // how many batches may be under way at once
	patience time.Duration
	proposer uint64        // tells the batches of this run of this host from all others
	level    atomic.Uint32 // of the shard: nothing above it is proposed
	wall     atomic.Int64  // the time of day at which the host's clock began, in nanoseconds, as its last turn had it; 0 before

	mu       sync.Mutex
	sequence uint64
	queue    []op
	bytes    []byte // the queued commands, encoded
	other    []byte // the memory that bytes had before
	flights  []flight
	spare    [][]op // for the queues to come
	closed   bool
	encoded  []byte
	urgent   atomic.Int32 // how many of the queued commands are not patient; set under the lock
	timer    *time.Timer  // ends the patience of those that are
	ticking  bool         // the timer runs

	// Commands are in the queue, or in the flows, never in both.
	id     int // of the shard's flow among those of a connection
	flows  flows
	latest int64         // when the latest command of a client came; times are the host's nanoseconds
	heavy  int64         // when a connection last asked for much
	mixed  int64         // when one that asks for little last came beside one that asks for much
	epoch  uint64        // counts the batches
	shared atomic.Uint64 // how many batches were taken out of the flows
}

// op is a command under way and who waits for its result.
type op struct {
	conn    *conn // nil where done is called
	from    *conn // whose command it is where done is called; nil where it is the host's own
	request uint64
	kind    protocol.Kind
	started int64 // in nanoseconds of the host's clock
	size    int32 // of the encoded command
	patient bool  // it may wait for the next command
	// done is called where no answer is to be sent right away, with the result, or with nil and what kept it from
	// being known. It runs where batches are applied and must not block.
	done func(e *shard.Effect, failed protocol.Status)
}

// flight is a batch that was proposed and not applied yet.
type flight struct {
	sequence uint64
	large    bool // with large commands
	ops      []op
	proposed time.Time
}

// add queues a command. It returns false where the queue, or the part of it that its connection may fill, is full, and
// where the command is above the level of the shard.
func (p *pipeline) add(o op, c *shard.Command) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	f := p.flowOf(&o)
	if len(p.queue) >= sharedCommands || len(p.bytes) >= sharedBytes {
		p.share()
	}
	shared := p.flows.root.queued > 0
	if shared && !p.flows.admits(f) {
		return false
	}
	before := len(p.bytes)
	c.Level = level.Level(p.level.Load())
	p.withTime(c, o.started)
	p.bytes = shard.AppendCommand(p.bytes, c)
	if p.bytes[before] > byte(c.Level) { // a command begins with the level that it needs
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
	p.weigh(f, &o)
	if !o.patient {
		p.urgent.Add(1)
	}
	return true
}

// withTime gives the command what people want to know later, where its level has room for that. The time of day follows from when the
// request came by the host's clock: to ask for it with every command costs more than all else here.
func (p *pipeline) withTime(c *shard.Command, started int64) {
	switch {
	case c.Level < shard.TimeLevel:
		c.Client = shard.ClientRef{}
	case !c.Kind.TakesTime():
	case started != 0 && p.wall.Load() != 0:
		c.Time = uint64((p.wall.Load() + started) / int64(time.Millisecond))
	default:
		c.Time = uint64(time.Now().UnixMilli())
	}
}

// hurried tells that what is queued will be proposed as soon as it can be, patient or not.
func (p *pipeline) hurried() bool { return p.patience <= 0 || p.urgent.Load() > 0 }

// flush proposes what is queued if there is room for another batch, and anything of it is urgent.
func (p *pipeline) flush() {
	p.mu.Lock()
	var failed []op
	if p.hurried() {
		failed = p.pump()
	} else if p.queued() > 0 && len(p.flights) == 0 && !p.ticking {
		p.ticking = true
		p.timer.Reset(p.patience) // a batch that is under way takes what is queued along when it has landed
	}
	p.mu.Unlock()
	fail(failed, unavailable)
}

// hurry proposes what has waited for long enough.
func (p *pipeline) hurry() {
	p.mu.Lock()
	p.ticking = false
	failed := p.pump()
	p.mu.Unlock()
	fail(failed, unavailable)
}

var unavailable = protocol.Result{Status: protocol.StatusUnavailable}

// pump is flush under the lock. It returns ops that could not be proposed. Where nothing is under way it
// leaves nothing queued: nobody would come back for that.
func (p *pipeline) pump() (failed []op) {
	for p.queued() > 0 && len(p.flights) < p.window && !p.closed {
		ops, bytes := p.next()
		if len(ops) == 0 {
			break // what is left waits for a batch that is under way
		}
		p.sequence++
		sequence := p.sequence
		p.encoded = shard.AppendGathered(p.encoded[:0], p.proposer, sequence, len(ops), bytes)
		p.flights = append(p.flights, flight{sequence: sequence, ops: ops, proposed: time.Now(), large: hasLarge(ops, bytes)})
		if err := p.log.Propose(p.encoded, func(o shard.Outcome) { p.settled(sequence, o) }); err == nil {
			break
		}
		p.flights = p.flights[:len(p.flights)-1]
		failed = append(failed, ops...)
	}
	return failed
}

// queued returns how many commands wait.
func (p *pipeline) queued() int { return len(p.queue) + p.flows.root.queued }

// next takes the next batch off the queue: all of it, as a rule, or as much as one batch may hold.
func (p *pipeline) next() (ops []op, bytes []byte) {
	p.epoch++
	if p.recently(p.mixed) && len(p.queue)*commandCost+len(p.bytes) > flowQuantum {
		p.share()
	}
	if p.flows.root.queued > 0 {
		return p.nextShared()
	}
	ops = p.queue
	p.queue = nil
	if n := len(p.spare); n > 0 {
		p.queue, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	if len(ops) <= maxBatchCommands && len(p.bytes) <= maxBatchBytes {
		p.urgent.Store(0)
		if p.ticking { // who comes next has patience of its own
			p.timer.Stop()
			p.ticking = false
		}
		bytes = p.bytes
		p.bytes, p.other = p.other[:0], kept(bytes)
		return ops, bytes
	}
	n, size := 0, 0
	for n < len(ops) && n < maxBatchCommands && (n == 0 || size+int(ops[n].size) <= maxBatchBytes) {
		size += int(ops[n].size)
		if !ops[n].patient {
			p.urgent.Add(-1)
		}
		n++
	}
	p.queue = append(p.queue, ops[n:]...)
	bytes = p.bytes
	p.bytes, p.other = append(p.other[:0], bytes[size:]...), kept(bytes)
	return ops[:n], bytes[:size]
}

// kept returns memory that is to be used again, nil where it is that of a burst.
func kept(bytes []byte) []byte {
	if cap(bytes) > keptBytes {
		return nil
	}
	return bytes
}

// land returns the ops of a batch of this host that is being applied, and when it was proposed; nil
// where nobody waits any more.
func (p *pipeline) land(sequence uint64) (ops []op, proposed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.flights {
		if p.flights[i].sequence == sequence {
			proposed = p.flights[i].proposed
		}
	}
	return p.remove(sequence), proposed
}

func (p *pipeline) remove(sequence uint64) []op {
	for i := range p.flights {
		if p.flights[i].sequence == sequence {
			ops := p.flights[i].ops
			p.flights = append(p.flights[:i], p.flights[i+1:]...)
			return ops
		}
	}
	return nil
}

// landed takes the memory of ops back and proposes what came meanwhile.
func (p *pipeline) landed(ops []op) {
	clear(ops)
	p.mu.Lock()
	if len(p.spare) < p.window && cap(ops) <= keptOps {
		p.spare = append(p.spare, ops[:0])
	}
	failed := p.pump()
	p.mu.Unlock()
	fail(failed, unavailable)
}

// settled is told by the log what became of a batch. Where it was applied, land was before.
func (p *pipeline) settled(sequence uint64, o shard.Outcome) {
	if o == shard.OutcomeApplied {
		return
	}
	p.mu.Lock()
	ops := p.remove(sequence)
	failed := p.pump()
	p.mu.Unlock()
	fail(ops, unavailable)
	fail(failed, unavailable)
}

// abandon answers all that is queued: this host does not lead the shard any more. Batches under way
// get their outcome from the log.
func (p *pipeline) abandon(why protocol.Result) {
	p.mu.Lock()
	ops := p.queue
	for p.flows.root.queued > 0 {
		ops, p.other = p.flows.take(ops, p.other[:0], calm)
	}
	p.queue, p.bytes = nil, nil
	p.urgent.Store(0)
	p.mu.Unlock()
	fail(ops, why)
}

// close makes the pipeline refuse everything.
func (p *pipeline) close() {
	p.mu.Lock()
	p.closed = true
	p.timer.Stop()
	p.mu.Unlock()
	p.abandon(unavailable)
}

// waiting returns how many commands are queued and how many batches are under way.
func (p *pipeline) waiting() (commands, batches int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queued(), len(p.flights)
}

// fail answers ops that were not, or not certainly, carried out.
func fail(ops []op, why protocol.Result) {
	if len(ops) == 0 {
		return
	}
	told := flushes{}
	defer told.flush()
	for i := range ops {
		o := &ops[i]
		if o.conn == nil {
			o.done(nil, why.Status)
			continue
		}
		o.conn.fail(o.request, o.kind, &why)
		told.add(o.conn)
	}
}

// init makes the pipeline of a shard whose batches carry the proposer.
func (p *pipeline) init(id int, proposer uint64, window int, patience time.Duration) {
	p.id, p.proposer, p.window, p.patience = id, proposer, window, patience
	p.flows.init()
	p.timer = time.AfterFunc(time.Hour, p.hurry)
	p.timer.Stop()
}

// open gives the pipeline its log.
func (p *pipeline) open(log shard.Log) { p.log = log }
