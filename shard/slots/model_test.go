package slots

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// The model of a slot move. Every shard is a replicated log whose state never goes back, so a shard is one real Slots.
// Any leader may take a step, or none. Messages are never removed from the network: each may arrive late, twice, or
// never. A session's mutations are numbered; each must be executed once.

// mistake is a bug planted in the world.
type mistake string

// Planted bugs in moves.
const (
	asDesigned   mistake = ""
	noGeneration mistake = "no generation"
	oneNumber    mistake = "one number for keep"
	unseal       mistake = "unseal by time-out"
	dropEarly    mistake = "the slot snapshot is dropped before the answer"
	noRefusal    mistake = "a refusal is not kept"
	passed       mistake = "who has gone on answers refused"
	numbersStay  mistake = "numbers left behind"
	frozenTables mistake = "frozen tables"
	expiryByTerm mistake = "expiry by term"
	earlyRefused mistake = "a cancel keeps the slot before the other shard has refused"
	onlyShard    mistake = "a refused shard redirects nobody"
	tableBefore  mistake = "the next attempt begins before the last one ended"
)

// room is one shard: the rules, and the shard's content of the slot.
type room struct {
	slots   *Slots
	content string // numbers of mutations in their order
	numbers uint8  // applied here, or received with a slot snapshot; a set
}

// content is the room as seen by the rules.
type content struct {
	*room
	bug    mistake
	refuse bool // the slot snapshot does not fit
}

func (c content) Pack(shard.Slot, Limits) (*Snapshot, string, error) {
	return &Snapshot{Bytes: append([]byte{c.numbers}, c.content...)}, "", nil
}

func (c content) TakeOut(shard.Slot) {
	if c.bug != frozenTables {
		c.room.content = ""
	}
}

func (c content) Check(shard.Slot, *Snapshot) error {
	if c.refuse {
		return errDigest
	}
	return nil
}

func (c content) Merge(_ shard.Slot, p *Snapshot) {
	c.room.content += string(p.Bytes[1:])
	if c.bug != numbersStay {
		c.numbers |= p.Bytes[0]
	}
}

// Messages of an attempt, as bits.
const (
	sealSent = 1 << iota
	openedSent
	refuseSent
	refusedSent
	forgetSent
)

// attempt is one attempt of a move, and its messages.
type attempt struct {
	from, to   int
	generation uint64
	sent       uint8
	offers     []*Snapshot
}

// expiry is an expiry in a shard's pipeline.
type expiry struct {
	shard      int
	generation uint64
	heard      bool // a later owner has heard the client since
}

// world is the slot, its shards, the meta shard with one driver, the network, and one client.
type world struct {
	bug       mistake
	moves     int
	mutations int
	expiries  bool

	rooms    []room
	entry    Entry // in the meta shard
	open     bool  // a step: the last attempt
	attempts []attempt
	acked    uint8 // mutations known by the client to be done
	pending  []expiry
	over     bool // the session has expired
	wrong    string
}

func newWorld(bug mistake, shards, moves, mutations int, expiries bool) *world {
	w := &world{bug: bug, moves: moves, mutations: mutations, expiries: expiries, entry: Entry{Owner: Owner{Shard: 1}}}
	for n := range shards {
		w.rooms = append(w.rooms, room{slots: shardWith(uint64(n + 1))})
	}
	w.rooms[0].slots.owned.Add(0, 0)
	return w
}

func (w *world) slot(n int) Slot { return w.rooms[n].slots.Of(0) }

// seenForms are the saved forms already read back.
var seenForms = make(map[string]bool)

func (w *world) key() []byte {
	var k []byte
	number := func(v ...uint64) {
		for _, n := range v {
			k = binary.AppendUvarint(k, n)
		}
	}
	text := func(s string) { number(uint64(len(s))); k = append(k, s...) }
	for n := range w.rooms {
		r := &w.rooms[n]
		saved := r.slots.Save(nil)
		if form := string(saved); !seenForms[form] {
			seenForms[form] = true // read back once
			loaded := shardWith(uint64(n + 1))
			err := loaded.Load(saved)
			if err == nil {
				err = loaded.SetContents(r.slots.Contents())
			}
			if w.bug == asDesigned && (err != nil || string(loaded.Save(nil)) != form) {
				w.wrong = fmt.Sprintf("what was saved is not read: %v", err)
			}
		}
		text(string(saved))
		text(r.content)
		number(uint64(r.numbers))
	}
	number(w.entry.Shard, w.entry.Generation, w.entry.Last, uint64(w.acked))
	flag := func(list ...bool) {
		for _, b := range list {
			if k = append(k, 0); b {
				k[len(k)-1] = 1
			}
		}
	}
	flag(w.open, w.over)
	number(uint64(len(w.pending)))
	for _, e := range w.pending {
		number(uint64(e.shard), e.generation)
		flag(e.heard)
	}
	for _, a := range w.attempts {
		number(uint64(a.from), uint64(a.to), a.generation, uint64(a.sent), uint64(len(a.offers)))
		for _, p := range a.offers {
			number(p.Digest)
		}
	}
	text(w.wrong)
	return k
}

func (w *world) violation() string {
	if w.wrong != "" {
		return w.wrong
	}
	owner, best := -1, -1
	for n := range w.rooms {
		x := w.slot(n)
		if x.State == Owned {
			if owner >= 0 {
				return "two shards own the slot"
			}
			owner = n
		}
		if x.State != Owned && x.State != Sealed {
			continue
		}
		if best < 0 || x.Generation > w.slot(best).Generation ||
			x.Generation == w.slot(best).Generation && x.State == Owned {
			best = n
		}
	}
	if best < 0 {
		return "no shard has the slot"
	}
	if owner >= 0 && best != owner {
		return "the owner has a lower generation than a slot snapshot"
	}
	have := w.rooms[best].content
	if x := w.slot(best); x.State == Sealed {
		have = string(x.Content.Bytes[1:])
	}
	for m := range 8 {
		switch n := strings.Count(have, string(rune('0'+m))); {
		case n > 1:
			return "a mutation was Success twice"
		case n == 0 && w.acked&(1<<m) != 0:
			return "an acknowledged mutation is lost"
		}
	}
	return w.redirects()
}

// redirects follows a client that knows of an attempt, while the meta shard's table is unavailable.
func (w *world) redirects() string {
	if w.bug == tableBefore {
		return "" // two attempts are open, to be detected by other rules
	}
	sealed := false
	for n := range w.rooms {
		sealed = sealed || w.slot(n).State == Sealed
	}
	for i, a := range append([]attempt{{to: 0}}, w.attempts...) {
		at := Owner{uint64(a.to + 1), a.generation}
		for {
			way, to := w.rooms[at.Shard-1].slots.Route(Request{Generation: at.Generation})
			switch {
			case way == Redirect && to.Generation <= at.Generation:
				return "a redirect does not raise the generation"
			case way == Redirect:
				at = to
				continue
			case way == Unavailable && !sealed, way == Park && !(w.open && !sealed && i == len(w.attempts)) && !sealed:
				return fmt.Sprintf("a client that heard of generation %d waits for ever", a.generation)
			}
			break
		}
	}
	return ""
}

// with returns a copy with a mutable room of one shard.
func (w *world) with(n int) *world {
	c := *w
	c.rooms = slices.Clone(w.rooms)
	if n >= 0 {
		s := w.rooms[n].slots.Clone()
		c.rooms[n].slots = &s
	}
	c.attempts = slices.Clone(w.attempts)
	c.pending = slices.Clone(w.pending)
	return &c
}

// apply carries a command out at a shard, with the planted mistake.
func (w *world) apply(n int, c shard.Command, refuse bool) Answer {
	r := &w.rooms[n]
	before := r.slots.Of(0)
	row := func() *Slot { return r.slots.slot(0) }
	if w.bug == noGeneration && (c.Kind == shard.CmdSlotSeal || c.Kind == shard.CmdSlotOpen) {
		row().Seen = 0
	}
	answer := r.slots.Apply(&c, content{r, w.bug, refuse}, At{Now: 1, Level: 8})
	after := r.slots.Of(0)
	switch {
	case w.bug == noGeneration:
		row().Seen = max(before.Seen, after.Seen)
	case w.bug == oneNumber && c.Kind == shard.CmdSlotCancel && answer.Outcome == Done && after.Generation == c.Count+1:
		row().Generation = c.Count
	case w.bug == oneNumber && answer.Outcome == Refused:
		row().Hint.Generation = c.Count
	case w.bug == onlyShard && answer.Outcome == Refused:
		row().Hint = before.Hint
	case w.bug == noRefusal && c.Kind == shard.CmdSlotRefuse:
		row().Seen = before.Seen
	case w.bug == passed && answer.Outcome == Opened && !(after.State == Owned && after.Generation == c.Count):
		answer.Outcome = Refused
	}
	if after = r.slots.Of(0); after.Seen < before.Seen || after.State == Owned && after.Generation < before.Generation {
		w.wrong = "a generation fell"
	}
	return answer
}

// table lets the meta shard's real table change the slot's entry.
func (w *world) table(f func(*Table)) {
	scratch.entries[0] = w.entry
	f(&scratch)
	w.entry = scratch.entries[0]
}

var scratch Table

func (w *world) next(visit func(step, state)) {
	w.drive(visit)
	for i := range w.attempts {
		w.deliver(i, visit)
	}
	for n := range w.rooms {
		w.leader(n, visit)
	}
}

// drive is the possible actions of the meta shard and its governor.
func (w *world) drive(visit func(step, state)) {
	if (!w.open || w.bug == tableBefore) && len(w.attempts) < w.moves {
		for to := range w.rooms {
			from := int(w.entry.Shard) - 1
			if to == from {
				continue
			}
			c := w.with(-1)
			var generation uint64
			c.table(func(t *Table) { generation = t.Attempt(0) })
			c.open = true
			c.attempts = append(c.attempts, attempt{from: from, to: to, generation: generation, sent: sealSent})
			visit(step{"M begins to move to", to + 1, generation}, c)
		}
	}
	if !w.open {
		return
	}
	i := len(w.attempts) - 1
	a := w.attempts[i]
	if a.sent&refuseSent == 0 {
		c := w.with(-1)
		c.attempts[i].sent |= refuseSent
		if w.bug == earlyRefused {
			c.attempts[i].sent |= refusedSent
		}
		visit(step{"M cancels the move", a.to + 1, a.generation}, c)
	}
	for _, p := range []Owner{{uint64(a.to + 1), a.generation}, {uint64(a.from + 1), a.generation + 1}} {
		if w.bug == oneNumber && p.Generation > a.generation {
			p.Generation--
		}
		if !w.rooms[p.Shard-1].slots.Owns(0, p.Generation) {
			continue
		}
		c := w.with(-1)
		c.table(func(t *Table) {
			if _, err := t.Assign([]Assignment{{Owner: p}}); err != nil {
				c.wrong = err.Error()
			}
		})
		c.open = false
		visit(step{"M assigns", int(p.Shard), p.Generation}, c)
	}
}

// deliver delivers each message of an attempt.
func (w *world) deliver(i int, visit func(step, state)) {
	a := &w.attempts[i]
	command := func(kind shard.CommandKind) shard.Command {
		return shard.Command{Kind: kind, Count: a.generation}
	}
	label := func(what shard.CommandKind, n int) step { return step{what.String(), n + 1, a.generation} }
	reply := func(c *world, answer Answer) {
		switch answer.Outcome {
		case Opened:
			c.attempts[i].sent |= openedSent
		case Refused:
			c.attempts[i].sent |= refusedSent
		}
	}
	if a.sent&sealSent != 0 {
		c, seal := w.with(a.from), command(shard.CmdSlotSeal)
		seal.Number, seal.Level = uint64(a.to+1), 8
		c.apply(a.from, seal, false)
		visit(label(shard.CmdSlotSeal, a.from), c)
	}
	for _, p := range a.offers {
		for _, refuse := range []bool{false, true} {
			if refuse && w.slot(a.to).Seen >= a.generation {
				continue // the shard does not look at the slot snapshot
			}
			c, open := w.with(a.to), command(shard.CmdSlotOpen)
			open.Number, open.Body = uint64(a.from+1), p.Append(nil)
			reply(c, c.apply(a.to, open, refuse))
			visit(label(shard.CmdSlotOpen, a.to), c)
		}
	}
	if a.sent&refuseSent != 0 {
		c, refuse := w.with(a.to), command(shard.CmdSlotRefuse)
		refuse.Number = uint64(a.from + 1)
		reply(c, c.apply(a.to, refuse, false))
		visit(label(shard.CmdSlotRefuse, a.to), c)
	}
	for _, d := range []struct {
		sent    uint8
		command shard.Command
	}{
		{openedSent, command(shard.CmdSlotRelease)}, {refusedSent, command(shard.CmdSlotCancel)},
		{forgetSent, shard.Command{Kind: shard.CmdSlotRelease, Count: a.generation, Flags: shard.FlagForget}},
	} {
		if a.sent&d.sent != 0 {
			to := w.with(a.from)
			to.apply(a.from, d.command, false)
			visit(label(d.command.Kind, a.from), to)
		}
	}
}

// leader is a shard leader's own actions, and the client's at that shard.
func (w *world) leader(n int, visit func(step, state)) {
	x := w.slot(n)
	i := slices.IndexFunc(w.attempts, func(a attempt) bool { return a.from == n && a.generation == x.Generation })
	switch x.State {
	case Sealed:
		if !slices.ContainsFunc(w.attempts[i].offers, func(p *Snapshot) bool { return p.Digest == x.Content.Digest }) {
			c := w.with(-1)
			c.attempts[i].offers = append(slices.Clone(c.attempts[i].offers), x.Content)
			visit(step{"offer", n + 1, x.Generation}, c)
		}
		if w.bug == unseal {
			c := w.with(n)
			content{&c.rooms[n], w.bug, false}.Merge(0, x.Content)
			c.rooms[n].slots.own(c.rooms[n].slots.slot(0), x.Generation)
			visit(step{"unseal", n + 1, x.Generation}, c)
		}
		if w.bug == dropEarly {
			c := w.with(n)
			x.State, x.Content = Released, nil
			*c.rooms[n].slots.slot(0) = x
			visit(step{"drop", n + 1, x.Generation}, c)
		}
	case Transferred:
		if w.attempts[i].sent&forgetSent == 0 {
			c := w.with(-1)
			c.attempts[i].sent |= forgetSent
			visit(step{"all voters have the open of", n + 1, x.Generation}, c)
		}
	case Owned:
		w.client(n, visit)
	}
	for k, e := range w.pending {
		if e.shard != n || x.State != Owned || !w.rooms[n].slots.Owns(0, e.generation) && w.bug != expiryByTerm {
			continue
		}
		c := w.with(n)
		c.pending = slices.Delete(c.pending, k, k+1)
		if c.over = true; e.heard {
			c.wrong = "a session ends by an expiry of another generation"
		}
		visit(step{"expiry applied", n + 1, e.generation}, c)
	}
}

// client is the client's actions at the slot's owner.
func (w *world) client(n int, visit func(step, state)) {
	for m := range w.mutations {
		r := w.rooms[n]
		if r.numbers&(1<<m) != 0 {
			if w.acked&(1<<m) == 0 {
				c := w.with(-1)
				c.acked |= 1 << m
				visit(step{"answer", n + 1, uint64(m)}, c)
			}
			continue
		}
		c := w.with(n)
		c.rooms[n].content += string(rune('0' + m))
		c.rooms[n].numbers |= 1 << m
		visit(step{"mutation", n + 1, uint64(m)}, c)
	}
	if !w.expiries || w.over {
		return
	}
	at := w.slot(n).Generation
	if !slices.ContainsFunc(w.pending, func(e expiry) bool { return e.generation == at && e.shard == n }) {
		c := w.with(-1)
		c.pending = append(c.pending, expiry{shard: n, generation: at})
		slices.SortFunc(c.pending, func(a, b expiry) int { return int(a.generation) - int(b.generation) })
		visit(step{"expiry proposed", n + 1, at}, c)
	}
	c := w.with(-1)
	changed := false
	for k, e := range c.pending {
		if e.generation != at && !e.heard {
			c.pending[k].heard, changed = true, true
		}
	}
	if changed {
		visit(step{"client heard", n + 1, at}, c)
	}
}
