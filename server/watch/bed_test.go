package watch

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// replica is one replica of the shard with its hub.
type replica struct {
	machine *machine.Machine
	shelves *model // replaces the machine, mostly nil
	hub     *Hub
	effects shard.Effects
	batch   shard.Batch
	behind  [][]byte // unapplied batches
}

func newReplica(o Options) *replica {
	m := machine.New(kinds.All(), machine.Options{})
	return &replica{machine: m, hub: New(m, o)}
}

// apply applies the oldest n pending batches.
func (r *replica) apply(n int) {
	for _, data := range r.behind[:n] {
		if err := r.hub.Apply(r.applyBatch(data), time.Now()); err != nil {
			panic(err)
		}
	}
	r.behind = r.behind[n:]
}

func (r *replica) applyBatch(data []byte) []shard.Effect {
	if r.shelves != nil {
		return r.shelves.apply(decodeOps(data))
	}
	if err := shard.DecodeBatch(data, &r.batch, r.machine.Level()); err != nil {
		panic(err)
	}
	r.effects.Reset()
	r.machine.Apply(&r.batch, &r.effects)
	return r.effects.List
}

// state returns the expected content of a watch on everything, and its revision.
func (r *replica) state(of shard.Ref) (state, shard.Revision) {
	if r.shelves != nil {
		return r.shelves.state(of)
	}
	return stateOf(r.machine, of.Node, of.Name)
}

// last returns the revision of the latest change.
func (r *replica) last() shard.Revision {
	if r.shelves != nil {
		return r.shelves.last
	}
	return r.machine.State().LastRevision
}

// restore replaces the state by a more recent replica's state.
func (r *replica) restore(from *replica) {
	if r.shelves != nil {
		r.shelves.restore(from.shelves.save())
	} else if err := r.machine.Restore(bytes.NewReader(save(from.machine))); err != nil {
		panic(err)
	}
	r.behind = nil
	r.hub.Restored(time.Now())
}

// save returns a snapshot of the shard in its log's form.
func save(m *machine.Machine) []byte {
	s, err := m.PrepareSnapshot()
	if err != nil {
		panic(err)
	}
	defer s.Discard()
	var file bytes.Buffer
	if err := s.Save(&file, nil); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// bed is a shard under test: committed batches go to all replicas, and the first replica never lags.
type bed struct {
	testing.TB
	replicas []*replica
	machine  *machine.Machine // of the first
	hub      *Hub
	ids      []shard.SessionID
	numbers  []uint64
	pending  []shard.Command
}

func newBed(t testing.TB, sessions, replicas int, o Options) *bed {
	all := make([]*replica, replicas)
	for i := range all {
		all[i] = newReplica(o)
	}
	return newBedOf(t, sessions, all...)
}

func newBedOf(t testing.TB, sessions int, replicas ...*replica) *bed {
	b := &bed{TB: t, replicas: replicas}
	b.machine, b.hub = b.replicas[0].machine, b.replicas[0].hub
	b.do(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
	for range sessions {
		b.session()
	}
	for _, r := range b.replicas {
		r.apply(len(r.behind))
	}
	return b
}

// session starts another session.
func (b *bed) session() int {
	b.do(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(len(b.ids) % shard.Slots), Node: 1,
		Timeout: 10_000})
	for _, e := range b.replicas[0].effects.List {
		if e.Kind == shard.EffectResult {
			b.ids, b.numbers = append(b.ids, e.Session), append(b.numbers, 0)
		}
	}
	return len(b.ids) - 1
}

// add puts a command into the next batch.
func (b *bed) add(c shard.Command) {
	c.Node = 1
	b.pending = append(b.pending, c)
}

// addAs adds a session's mutation to the next batch.
func (b *bed) addAs(session int, c shard.Command) {
	b.numbers[session]++
	c.Session, c.Number, c.Acked = b.ids[session], b.numbers[session], b.numbers[session]-1
	b.add(c)
}

// commit applies the batch at the first replica, and queues it for the others.
func (b *bed) commit() {
	if len(b.pending) == 0 {
		return
	}
	b.send(shard.AppendBatch(nil, &shard.Batch{Commands: b.pending}))
	b.pending = b.pending[:0]
}

func (b *bed) send(batch []byte) {
	for _, r := range b.replicas {
		r.behind = append(r.behind, batch)
	}
	b.replicas[0].apply(1)
}

func (b *bed) do(c shard.Command) {
	b.add(c)
	b.commit()
}

func (b *bed) as(session int, c shard.Command) {
	b.addAs(session, c)
	b.commit()
}

func (b *bed) create(name string, limit uint64, data string) {
	b.do(shard.Command{Kind: shard.CmdSemaphoreCreate, Name: []byte(name), Count: limit, Data: []byte(data)})
}

func (b *bed) update(name, data string) {
	b.do(shard.Command{Kind: shard.CmdSemaphoreUpdate, Name: []byte(name), Data: []byte(data)})
}

func (b *bed) resize(name string, limit uint64) {
	b.do(shard.Command{Kind: shard.CmdSemaphoreResize, Name: []byte(name), Count: limit})
}

func (b *bed) remove(name string) {
	b.do(shard.Command{Kind: shard.CmdSemaphoreDelete, Name: []byte(name), Flags: shard.FlagForce})
}

func (b *bed) acquire(session int, name, data string) {
	b.as(session, acquire(name, data))
}

func (b *bed) release(session int, name string) {
	b.as(session, shard.Command{Kind: shard.CmdRelease, Name: []byte(name)})
}

func acquire(name, data string) shard.Command {
	return shard.Command{Kind: shard.CmdAcquire, Name: []byte(name), Count: 1, Timeout: shard.Forever,
		Data: []byte(data)}
}

// own makes the first n sessions owners, many in a batch.
func (b *bed) own(n int, name string, data string) {
	for i := range n {
		b.addAs(i, acquire(name, data))
		if len(b.pending) == 500 {
			b.commit()
		}
	}
	b.commit()
}

// quiet checks that a hub has released everything that was opened.
func (b *bed) quiet(h *Hub) {
	b.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	k := &h.worker
	c := h.Counters()
	if c.Topics+c.Watches+c.Slow+c.Ahead != 0 || len(h.objects)+len(h.subscribers)+len(h.resting.Items) != 0 ||
		len(k.queue)+len(k.ahead.Items)+k.waiting.Len()+len(k.inflight)+k.inflightBytes != 0 || h.running {
		b.Errorf("something is left: %s",
			fmt.Sprintf("%+v, %d objects, %d subscribers, %d resting, %d queued, %d in flight, running %v",
				c, len(h.objects), len(h.subscribers), len(h.resting.Items), len(k.queue), len(k.inflight), h.running))
	}
}
