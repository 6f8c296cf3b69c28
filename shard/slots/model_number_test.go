package slots

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// The model follows a session's numbers, answers and order ids in two shards, while its home and two
// objects move, each in a separate slot. The embedding shard decides what a slot snapshot contains, so this file has
// the merge rules of shard/DESIGN.md, section 15; the slots move by the real rules. The client repeats each request
// until it has seen the answer, and every copy of a request may arrive late, or twice.

// Planted bugs in slot snapshots.
const (
	homesLeave    mistake = "homes without record"
	unseenOnly    mistake = "numbers go with unseen answers only"
	unionOurs     mistake = "union of answers, ours win"
	unionTheirs   mistake = "union of answers, theirs win"
	noClass       mistake = "no class"
	recordDropped mistake = "a slot snapshot that comes back brings no answers"
	numbersBack   mistake = "the number of a slot snapshot replaces a higher one"
	unacked       mistake = "acknowledgements left behind"
)

// unslotted: the answers do not know their slot, like those of earlier levels, and are merged as designed.
const unslotted mistake = "answers do not know their slot"

// Slots: the home's, and those of two objects.
const (
	homeSlot = iota
	lockX
	lockY
	slotsInAll
)

// operation is a request of the session: each is executed once, or under another number if the answer was STALE.
type operation struct {
	slot     int
	releases bool
}

var operations = [3]operation{{slot: lockY}, {slot: lockX}, {slot: lockX, releases: true}}

// The values of an answer, by stage.
const (
	noAnswer = iota
	released
	acquired
	ended
	stale
)

const mostNumbers = 4

// reply is a cached answer.
type reply struct{ value, slot, order uint8 }

// record is a shard's data about the session.
type record struct {
	there, home    uint8
	applied, acked uint8
	answers        [mostNumbers]reply // by number
}

// place is one shard.
type place struct {
	slots     *Slots
	rec       record
	links     [slotsInAll]uint8 // owners' order ids
	lastOrder uint8
}

// wandering is the state of the world: a session whose slots move.
type wandering struct {
	bug   mistake
	most  int   // requests of the session, at most mostNumbers
	left  uint8 // remaining moves
	gen   uint64
	move  [3]uint8 // slot, from, to of the sealed slot; none if to equals from
	rooms [2]place

	sent        [mostNumbers]uint8 // operation and 1, by number
	copies      [mostNumbers]uint8 // acknowledgements in copies of the request; a set
	seen, dead  uint8              // numbers with seen answers; operations to be sent again; sets
	done        [3]uint8           // executions per operation
	owns        [slotsInAll]uint8  // what is true
	wrong       string
	unslottedly bool // answers do not know their slot
}

func newNumbers(bug mistake, requests, moves int) *wandering {
	w := &wandering{bug: bug, most: requests, left: uint8(moves)}
	w.unslottedly = slices.Contains([]mistake{unslotted, unionOurs, unionTheirs, unacked}, bug)
	for n := range w.rooms {
		w.rooms[n].slots = shardWith(uint64(n + 1))
	}
	w.rooms[0].slots.owned.Add(0, slotsInAll-1)
	w.rooms[0].rec = record{there: 1, home: 1}
	return w
}

func (w *wandering) key() []byte {
	k := make([]byte, 0, 512)
	for n := range w.rooms {
		r := &w.rooms[n]
		k = r.slots.Save(k)
		k = append(k, r.rec.bytes()...)
		k = append(append(k, r.links[:]...), r.lastOrder)
	}
	k = append(append(append(k, w.sent[:]...), w.copies[:]...), w.move[:]...)
	k = append(append(append(k, w.done[:]...), w.owns[:]...), w.left, w.seen, w.dead, uint8(w.gen))
	return append(k, w.wrong...)
}

func (w *wandering) violation() string { return w.wrong }

func (rec *record) bytes() []byte {
	b := []byte{rec.there, rec.home, rec.applied, rec.acked}
	for _, a := range rec.answers {
		b = append(b, a.value, a.slot, a.order)
	}
	return b
}

func recordOf(b []byte) (rec record) {
	rec.there, rec.home, rec.applied, rec.acked = b[0], b[1], b[2], b[3]
	for i := range rec.answers {
		rec.answers[i] = reply{b[4+3*i], b[5+3*i], b[6+3*i]}
	}
	return rec
}

// packer is a shard as seen by the rules.
type packer struct {
	*place
	w *wandering
}

func (p packer) goes(slot shard.Slot, a reply) bool { return p.w.unslottedly || a.slot == uint8(slot) }

func (p packer) Pack(slot shard.Slot, _ Limits) (*Snapshot, string, error) {
	rec, some := p.rec, false
	for i, a := range rec.answers {
		if !p.goes(slot, a) {
			rec.answers[i] = reply{}
		}
		some = some || rec.answers[i].value != noAnswer
	}
	if slot != homeSlot {
		rec.home = 0
		if p.w.bug == unseenOnly && !some {
			rec = record{}
		}
	}
	return &Snapshot{Bytes: append([]byte{p.links[slot]}, rec.bytes()...), LastOrder: uint64(p.lastOrder)}, "", nil
}

func (p packer) TakeOut(slot shard.Slot) {
	stays := false
	for i, a := range p.rec.answers {
		if p.goes(slot, a) && !p.w.unslottedly {
			p.rec.answers[i] = reply{}
		}
		stays = stays || p.rec.answers[i].value != noAnswer
	}
	p.links[slot] = 0
	if slot == homeSlot {
		if p.rec.home = 0; p.w.bug == homesLeave && !stays {
			p.rec = record{}
		}
	}
}

func (p packer) Check(_ shard.Slot, content *Snapshot) error {
	if len(content.Bytes) != 1+len((&record{}).bytes()) {
		return errors.New("what is this")
	}
	return nil
}

func (p packer) Merge(slot shard.Slot, content *Snapshot) {
	p.links[slot], p.lastOrder = content.Bytes[0], max(p.lastOrder, uint8(content.LastOrder))
	theirs := recordOf(content.Bytes[1:])
	if theirs.there == 0 {
		return
	}
	ours := &p.rec
	ours.there, ours.home = 1, max(ours.home, theirs.home)
	switch p.w.bug {
	case numbersStay: // of the move
	case numbersBack:
		ours.applied = theirs.applied
	default:
		ours.applied = max(ours.applied, theirs.applied)
	}
	if p.w.bug != unacked {
		ours.acked = max(ours.acked, theirs.acked)
	}
	for i, a := range theirs.answers {
		o := &ours.answers[i]
		switch {
		case a.value == noAnswer || p.w.bug == recordDropped:
		case o.value == noAnswer, p.w.bug == unionTheirs:
			*o = a
		case p.w.bug != unionOurs && a.value > o.value: // the later stage
			*o = a
		}
	}
	ours.forget()
}

// forget drops acknowledged answers.
func (rec *record) forget() {
	for i := range min(rec.acked, mostNumbers) {
		rec.answers[i] = reply{}
	}
}

// with returns a copy with mutable shards.
func (w *wandering) with() *wandering {
	c := *w
	for n := range c.rooms {
		s := w.rooms[n].slots.Clone()
		c.rooms[n].slots = &s
	}
	return &c
}

func (w *wandering) next(visit func(step, state)) {
	low := uint8(bits.TrailingZeros8(^w.seen))
	w.send(low, visit)
	for i, copies := range w.copies {
		for ack := range uint8(mostNumbers) {
			if copies&(1<<ack) != 0 {
				w.arrive(i, ack, visit)
			}
		}
	}
	w.moves(visit)
}

// send sends a client request, new or repeated with the current acknowledgements.
func (w *wandering) send(low uint8, visit func(step, state)) {
	var count [3]int
	numbers := 0
	for _, o := range w.sent {
		if o != 0 {
			numbers++
			count[o-1]++
		}
	}
	for o := range operations {
		again := w.dead&(1<<o) != 0 && count[o] < 2
		if numbers == w.most || count[o] > 0 && !again || operations[o].releases && count[1] == 0 {
			continue
		}
		c := *w
		c.sent[numbers] = uint8(o + 1)
		c.copies[numbers] |= 1 << min(low, uint8(numbers))
		c.dead &^= 1 << o
		visit(step{"asked", o, uint64(numbers + 1)}, &c)
	}
	for i := range numbers {
		if ack := uint8(1) << min(low, uint8(i)); w.seen&(1<<i) == 0 && w.copies[i]&ack == 0 {
			c := *w
			c.copies[i] |= ack
			visit(step{"asked again", 0, uint64(i + 1)}, &c)
		}
	}
}

// arrive delivers a copy of a request to the shard that owns its slot.
func (w *wandering) arrive(i int, ack uint8, visit func(step, state)) {
	o := w.sent[i] - 1
	op := operations[o]
	n := 0
	if w.rooms[1].slots.Of(shard.Slot(op.slot)).State == Owned {
		n = 1
	} else if w.rooms[0].slots.Of(shard.Slot(op.slot)).State != Owned {
		return // the slot is in a slot snapshot
	}
	c := *w
	r := &c.rooms[n]
	r.rec.there = 1
	if ack > r.rec.acked {
		r.rec.acked = ack
		r.rec.forget()
	}
	value := c.execute(r, n, i, op)
	if value == stale && w.seen&(1<<i) == 0 && w.done[o] > 0 {
		c.wrong = "STALE for what was Success"
	}
	switch owns := c.owns[op.slot] == 1; {
	case c.done[o] > 1:
		c.wrong = "an operation was Success twice"
	case value == acquired && !owns:
		c.wrong = "answered acquired to who does not own"
	case value == ended && owns:
		c.wrong = "answered ended to who owns"
	}
	by := step{"arrives", n + 1, uint64(i + 1)}
	lost := c
	visit(by, &lost)
	if c.seen&(1<<i) == 0 && value == stale {
		c.dead |= 1 << o
	}
	c.seen |= 1 << i
	visit(by, &c)
}

// execute executes a request, or repeats its answer.
func (w *wandering) execute(r *place, n, i int, op operation) uint8 {
	number := uint8(i + 1)
	if number <= r.rec.applied {
		switch a := r.rec.answers[i]; {
		case a.value != noAnswer:
			return a.value
		case !op.releases && r.links[op.slot] != 0:
			return acquired // by the link
		}
		return stale
	}
	r.rec.applied = number
	w.done[w.sent[i]-1]++
	answer := reply{value: released, slot: uint8(op.slot)}
	if op.releases {
		for k := range r.rec.answers {
			if a := &r.rec.answers[k]; a.value == acquired && a.order == r.links[op.slot] {
				a.value = ended
			}
		}
		r.links[op.slot], w.owns[op.slot] = 0, 0
	} else {
		r.lastOrder++
		if w.bug != noClass && r.lastOrder%2 != uint8(n) {
			r.lastOrder++
		}
		answer.value, answer.order = acquired, r.lastOrder
		r.links[op.slot], w.owns[op.slot] = r.lastOrder, 1
	}
	r.rec.answers[i] = answer
	return answer.value
}

// moves seals a slot, and opens or keeps it.
func (w *wandering) moves(visit func(step, state)) {
	if w.move[1] == w.move[2] {
		for slot := range uint8(slotsInAll) {
			if w.left == 0 {
				return
			}
			c := w.with()
			from := uint8(0)
			if c.rooms[1].slots.Of(shard.Slot(slot)).State == Owned {
				from = 1
			}
			c.left--
			c.gen += 2
			c.move = [3]uint8{slot, from, 1 - from}
			c.command(from, shard.Command{Kind: shard.CmdSlotSeal, Number: uint64(2 - from), Level: 8}, Done)
			visit(step{"sealed", int(from) + 1, uint64(slot)}, c)
		}
		return
	}
	from, to := w.move[1], w.move[2]
	c := w.with()
	content := c.rooms[from].slots.Of(shard.Slot(w.move[0])).Content
	c.command(to, shard.Command{Kind: shard.CmdSlotOpen, Number: uint64(from + 1), Body: content.Append(nil)}, Opened)
	c.command(from, shard.Command{Kind: shard.CmdSlotRelease}, Done)
	c.command(from, shard.Command{Kind: shard.CmdSlotRelease, Flags: shard.FlagForget}, Done)
	c.move = [3]uint8{}
	visit(step{"opened", int(to) + 1, uint64(w.move[0])}, c)
	c = w.with()
	c.command(to, shard.Command{Kind: shard.CmdSlotRefuse, Number: uint64(from + 1)}, Refused)
	c.command(from, shard.Command{Kind: shard.CmdSlotCancel}, Done)
	c.move = [3]uint8{}
	visit(step{"kept", int(from) + 1, uint64(w.move[0])}, c)
}

func (w *wandering) command(n uint8, c shard.Command, want Outcome) {
	c.Slot, c.Count = shard.Slot(w.move[0]), w.gen-1
	if got := w.rooms[n].slots.Apply(&c, packer{&w.rooms[n], w}, At{Now: 1, Level: 8}); got.Outcome != want {
		w.wrong = c.Kind.String() + ": " + got.Outcome.String() + " " + got.Reason
	}
}
