package machine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/slots"
	"github.com/signalbox/signalbox/test/twin"
)

// isSlotCommand reports whether a command moves a slot.
func isSlotCommand(k shard.CommandKind) bool {
	return k >= shard.CmdSlotSeal && k <= shard.CmdSlotSupersede
}

// attempt is one attempt to move a slot.
type attempt struct {
	slot       shard.Slot
	from, to   int
	generation uint64
	body       []byte // the sealed content
	opened     bool
	refused    bool
}

// exchange is two machines and their twins that get random commands and exchange slots.
type exchange struct {
	sides   [2]*duel
	sources [2]*twin.Generator
	few     []shard.Slot
	random  *rand.Rand
	issued  map[shard.Slot]uint64 // last generation
	open    map[shard.Slot]*attempt
	past    []shard.Command // slot commands of before, to be sent again
	sent    []string
	tally   map[string]int
}

func newExchange(seed uint64, tally map[string]int) *exchange {
	ex := &exchange{
		random: rand.New(rand.NewPCG(seed, 7)), issued: make(map[shard.Slot]uint64),
		open: make(map[shard.Slot]*attempt), tally: tally,
	}
	ex.sources, ex.few = twin.NewPair(seed)
	for i := range ex.sides {
		ex.sides[i] = newDuel(ex.sources[i].Options())
	}
	ex.sides[0].naive.Exchanges(ex.sides[1].naive)
	return ex
}

// apply applies a batch at a side.
func (ex *exchange) apply(i int, b *shard.Batch) error {
	for _, c := range b.Commands {
		ex.sent = append(ex.sent, fmt.Sprintf("%d: %s", i, twin.CommandText(&c)))
	}
	if err := ex.sides[i].apply(b); err != nil {
		return fmt.Errorf("shard %d: %w", i, err)
	}
	return nil
}

// slotCommand applies a slot command at a side, and returns the status.
func (ex *exchange) slotCommand(i int, c shard.Command) (protocol.Status, error) {
	d := ex.sides[i]
	c.Level = d.state.Level
	if c.Kind != shard.CmdSlotOpen || len(ex.past) < 50 {
		ex.past = append(ex.past, c)
	}
	b := &shard.Batch{Commands: []shard.Command{c}}
	if d.state.Term > 0 {
		b.Stamp = clock.Stamp{Term: d.state.Term, Elapsed: d.state.Now - d.state.TimeBase + ex.random.Uint64N(20)}
	}
	if err := ex.apply(i, b); err != nil {
		return 0, err
	}
	status := d.expected.List[0].Status
	ex.tally[fmt.Sprintf("%v %v", c.Kind, status)]++
	for _, e := range d.expected.List[1:] {
		ex.tally[e.Kind.String()]++
	}
	return status, nil
}

func (ex *exchange) id(i int) uint64 { return ex.sides[i].options.Shard }

// owns reports whether a side owns a slot.
func owns(d *duel, slot shard.Slot) bool {
	owned := d.naive.Owned()
	return owned.Has(slot)
}

// attemptFor returns the open attempt for a slot, or a new one.
func (ex *exchange) attemptFor(slot shard.Slot) *attempt {
	if a := ex.open[slot]; a != nil {
		return a
	}
	a := &attempt{slot: slot, generation: ex.issued[slot] + 1}
	for i, d := range ex.sides {
		if owns(d, slot) {
			a.from, a.to = i, 1-i
		}
	}
	ex.issued[slot] += 2
	ex.open[slot] = a
	return a
}

// seal seals the slot of an attempt.
func (ex *exchange) seal(a *attempt) error {
	_, err := ex.slotCommand(a.from, shard.Command{
		Kind: shard.CmdSlotSeal, Slot: a.slot, Count: a.generation, Number: ex.id(a.to), Flags: shard.FlagForce,
	})
	if err != nil {
		return err
	}
	var bodies [][]byte
	for _, m := range ex.sides[a.from].machines {
		if at := m.Slot(a.slot); at.State == slots.Sealed && at.Generation == a.generation {
			bodies = append(bodies, at.Content.Append(nil))
		}
	}
	if len(bodies) > 0 {
		a.body = bodies[0]
		if len(bodies) != len(ex.sides[a.from].machines) || !bytes.Equal(bodies[0], bodies[len(bodies)-1]) {
			return fmt.Errorf("the replicas have saved slot %d differently", a.slot)
		}
	}
	return nil
}

func (ex *exchange) openAt(a *attempt, body []byte) error {
	status, err := ex.slotCommand(a.to, shard.Command{
		Kind: shard.CmdSlotOpen, Slot: a.slot, Count: a.generation, Number: ex.id(a.from), Body: body,
	})
	a.opened = a.opened || status == protocol.StatusSuccess
	a.refused = a.refused || status == protocol.StatusPreconditionFailed
	return err
}

// end ends an attempt that was opened or refused.
func (ex *exchange) end(a *attempt) error {
	c := shard.Command{Kind: shard.CmdSlotCancel, Slot: a.slot, Count: a.generation}
	if a.opened {
		c.Kind = shard.CmdSlotRelease
	}
	delete(ex.open, a.slot)
	status, err := ex.slotCommand(a.from, c)
	if err != nil || !a.opened {
		return err
	}
	if status != protocol.StatusSuccess {
		return fmt.Errorf("an opened slot is not released: %v", status)
	}
	c.Flags = shard.FlagForget
	_, err = ex.slotCommand(a.from, c)
	return err
}

// move takes a random step for a slot.
func (ex *exchange) move() error {
	a := ex.attemptFor(ex.few[ex.random.IntN(len(ex.few))])
	switch n := ex.random.IntN(10); {
	case a.opened, a.refused && n < 5:
		return ex.end(a)
	case a.body != nil && n < 4:
		return ex.openAt(a, a.body)
	case a.body != nil && n == 4:
		damaged := slices.Clone(a.body)
		damaged = damaged[:ex.random.IntN(len(damaged))]
		return ex.openAt(a, damaged)
	case n == 5:
		status, err := ex.slotCommand(a.to, shard.Command{
			Kind: shard.CmdSlotRefuse, Slot: a.slot, Count: a.generation, Number: ex.id(a.from),
		})
		a.opened, a.refused = status == protocol.StatusSuccess, status == protocol.StatusPreconditionFailed
		return err
	}
	return ex.seal(a)
}

// content lists what two shards have together: semaphores, sessions at home, and the numbers of all sessions.
func (ex *exchange) content() []string {
	var list []string
	numbers := make(map[shard.SessionID][2]uint64)
	// A random command may forget a session that is alive at home. Such a session ends as it arrives.
	hasEnded := func(id shard.SessionID) bool {
		return slices.ContainsFunc(ex.sides[:], func(d *duel) bool {
			return slices.Contains(d.state.Pending, shard.PendingState{Session: id})
		})
	}
	for _, d := range ex.sides {
		for _, sem := range d.state.Semaphores {
			var links []string
			for _, l := range sem.Links {
				links = append(links, fmt.Sprintf("%v %d %d %d %v %q", l.Session, l.Order, l.Number, l.Count, l.Owner,
					l.Data))
			}
			list = append(list, fmt.Sprintf("%d/%s %q limit %d revision %d: %v", sem.Node, sem.Name, sem.Data,
				sem.Limit, sem.Revision, links))
		}
		for _, s := range d.state.Sessions {
			if hasEnded(s.ID) {
				continue
			}
			n := numbers[s.ID]
			numbers[s.ID] = [2]uint64{max(n[0], s.Applied), max(n[1], s.Acked)}
			if s.Home {
				list = append(list, fmt.Sprintf("session %v %d %q %q %d %v", s.ID, s.Timeout, s.Details, s.Key,
					s.SequenceSpace, s.Client))
			}
		}
	}
	for id, n := range numbers {
		if slices.ContainsFunc(ex.sides[:], func(d *duel) bool {
			is := func(s shard.SessionState) bool { return s.ID == id && s.Home }
			return owns(d, id.Slot()) && slices.ContainsFunc(d.state.Sessions, is) && !hasEnded(id)
		}) {
			list = append(list, fmt.Sprintf("numbers of %v: %v", id, n))
		}
	}
	slices.Sort(list)
	return list
}

// moveAtOnce moves a slot while nothing else happens: together, the shards have what they had before.
func (ex *exchange) moveAtOnce() error {
	slot := ex.few[ex.random.IntN(len(ex.few))]
	if ex.open[slot] != nil {
		return nil
	}
	before := ex.content()
	a := ex.attemptFor(slot)
	if err := ex.seal(a); err != nil || a.body == nil {
		return err
	}
	if err := ex.openAt(a, a.body); err != nil || !a.opened {
		return err
	}
	if err := ex.end(a); err != nil {
		return err
	}
	if after := ex.content(); !slices.Equal(before, after) {
		return fmt.Errorf("the move of slot %d changed the content:\n%s", slot, twin.Difference(after, before))
	}
	ex.tally["moved at once"]++
	return nil
}

// replica restores a replica of a side from a snapshot.
func (ex *exchange) replica(i int) error {
	d := ex.sides[i]
	snapshot, err := d.machines[0].PrepareSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Discard()
	var file bytes.Buffer
	if err := snapshot.Save(&file, nil); err != nil {
		return err
	}
	fresh := newContestant("restored machine", d.options)
	if err := fresh.Restore(&file); err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	d.machines = []*contestant{fresh, d.machines[0]}
	if err := d.compare(fresh, d.state); err != nil {
		return err
	}
	if a, b := fresh.Digest(), d.machines[1].Digest(); a != b {
		return fmt.Errorf("digests of equal states: %x and %x", a, b)
	}
	return nil
}

func (ex *exchange) step() error {
	i := ex.random.IntN(2)
	switch n := ex.random.IntN(100); {
	case n < 2:
		return ex.replica(i)
	case n < 10:
		return ex.moveAtOnce()
	case n < 30:
		return ex.move()
	case n < 32 && len(ex.past) > 0:
		_, err := ex.slotCommand(i, ex.past[ex.random.IntN(len(ex.past))])
		return err
	}
	ex.sources[i].Others = ex.sources[i].Others[:0]
	for _, s := range ex.sides[1-i].state.Sessions {
		if s.Home {
			ex.sources[i].Others = append(ex.sources[i].Others, s.ID)
		}
	}
	return ex.apply(i, ex.sources[i].Batch(&ex.sides[i].state))
}

// TestMachinesThatExchangeSlotsAgreeWithTheirTwins: two machines and their naive twins get random commands and exchange
// slots. Effects, states, slot sets and usage are equal at all times, on replicas restored from snapshots too, and a
// move changes nothing in the sum of both.
func TestMachinesThatExchangeSlotsAgreeWithTheirTwins(t *testing.T) {
	seeds, first := uint64(40), *twinSeed
	if testing.Short() {
		seeds = 8
	}
	if first == 0 {
		first = rand.Uint64N(1 << 40)
	}
	t.Logf("first seed: %d", first)
	tally := make(map[string]int)
	for seed := first; seed < first+seeds; seed++ {
		ex := newExchange(seed, tally)
		for range 400 {
			if err := ex.step(); err != nil {
				last := ex.sent[max(0, len(ex.sent)-shownAtMost):]
				t.Fatalf("seed %d: %v\nafter\n%s", seed, err, strings.Join(last, "\n"))
			}
		}
	}
	t.Logf("%v", tally)
	for _, outcome := range []string{
		"slot-seal SUCCESS", "slot-seal STALE", "slot-seal OVERLOADED", "slot-open SUCCESS",
		"slot-open PRECONDITION_FAILED", "slot-refuse PRECONDITION_FAILED", "slot-cancel SUCCESS", "slot-cancel STALE",
		"slot-release SUCCESS", "moved at once", "session-seen", "session-ended",
	} {
		if tally[outcome] < int(seeds)/8 {
			t.Errorf("%s: only %d times", outcome, tally[outcome])
		}
	}
}
