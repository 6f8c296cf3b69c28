package hosts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	table "github.com/signalbox/signalbox/shard/slots"
)

// bug is a deliberately broken rule, to be detected by the invariants.
type bug int

const (
	noBug         bug = iota
	bugReturns        // an expelled host comes back
	bugEpoch          // the current state runs ahead of the target
	bugNames          // two living hosts get one name
	bugReplicaIDs     // a replica id is assigned again
	bugBoot           // a start number decreases
	bugHistory        // a change is not written down
	bugAhead          // a host is expelled while it has replicas
	bugRefused        // a refused command changes something
	bugTwice          // a second attempt to move a slot begins before the first has ended
	bugs
)

func (b bug) String() string {
	return [...]string{"none", "an expelled host comes back", "current ahead of target", "two hosts of one name",
		"replica id given again", "start number falls", "change not written down", "expelled with replicas",
		"refusal with an effect", "two attempts to move a slot"}[b]
}

// random sends records commands of hosts, operators and a governor in any order, late and twice, and keeps data for the
// invariants.
type random struct {
	*rand.Rand
	*Records
	bug      bug
	now      uint64
	expelled map[shard.HostID]bool
	boots    map[shard.HostID]uint64
	ids      map[uint64]shard.HostID // every allocated replica
	tally    map[protocol.Status]int
	moves    [3]int // attempts begun, kept and opened
}

func newRandom(seed uint64, b bug) *random {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 3)), Records: New("c", []ShardID{1, 2}), bug: b, now: 1,
		expelled: map[shard.HostID]bool{}, boots: map[shard.HostID]uint64{}, ids: map[uint64]shard.HostID{},
		tally: map[protocol.Status]int{}}
	var initialMembers []InitialMember
	for i := range 1 + r.IntN(4) {
		name := string(rune('a' + i))
		initialMembers = append(initialMembers, InitialMember{ID: shard.HostID(i + 1), Name: name,
			Incarnation: incarnation(byte(i + 1)), Addresses: addresses(name), Level: level.Newest})
	}
	r.Bootstrap(r.at(), initialMembers)
	return r
}

func (r *random) at() At { return At{Now: r.now, Term: 1 + r.now/5000, Level: level.Newest, By: "x"} }

func (r *random) term() uint64 { return r.at().Term - uint64(r.IntN(8))/7 }

func (r *random) ref() string { return string(rune('a' + r.IntN(8))) }

func (r *random) host() *Host { return r.hosts[r.IntN(len(r.hosts))] }

// command runs one random command.
func (r *random) command() Answer {
	at, h, id := r.at(), r.host(), ShardID(r.IntN(3))
	switch r.IntN(20) {
	case 18, 19:
		return r.slot(at, id)
	case 0, 1:
		n := byte(10 + r.IntN(200))
		j := Join{Cluster: "c", Name: r.ref(), Incarnation: incarnation(n), Addresses: addresses(strconv.Itoa(int(n))),
			Level: level.Newest, Trusted: true, Heard: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			j.Replace = r.ref()
		}
		return r.Join(at, j)
	case 2, 3:
		return r.Boot(at, Boot{Host: h.ID, Incarnation: h.Incarnation, Start: start(h.Start.Number + uint64(r.IntN(3))),
			Addresses: h.Addresses, Level: level.Newest})
	case 4:
		return r.Return(at, h.ID, h.Incarnation, h.Target.Epoch)
	case 5:
		return r.Shutdown(at, h.ID, h.Incarnation, h.Start)
	case 6:
		return r.Failed(at, r.term(), h.ID, h.Target.Epoch-uint64(r.IntN(5))/4, ReasonSilent, "silence")
	case 7:
		return r.SetSlow(at, r.term(), h.ID, r.IntN(2) == 0, "slow")
	case 8, 9:
		return r.Reach(at, r.term(), h.ID, h.Target.Variant, h.Target.Epoch)
	case 10:
		return r.Drain(at, r.ref())
	case 11:
		return r.Undrain(at, r.ref())
	case 12:
		return r.Expel(at, r.ref(), r.IntN(2) == 0, 100)
	case 13:
		return r.Allocate(at, id, h.ID, r.NextReplica()-uint64(r.IntN(4))/3, r.Shard(id).Change)
	case 14:
		return r.Replace(at, r.ref(), r.ref(), false, 100)
	case 15:
		if r.IntN(3) == 0 {
			return r.Weigh(at, r.ref(), r.Uint64N(MaxWeight+2))
		}
		return r.Cordon(at, r.ref(), r.IntN(2) == 0)
	}
	return r.membership(at, id)
}

// slot sends a command on one of a few slots, as an operator, a step or its executor would.
func (r *random) slot(at At, id ShardID) Answer {
	slot := shard.Slot(r.IntN(3))
	switch o := r.SlotOrder(slot); {
	case r.IntN(4) == 0:
		return r.CancelMove(at, slot)
	case o == nil || r.IntN(4) == 0:
		return r.MoveSlot(at, slot, id, r.IntN(2) == 0)
	case o.Into == 0:
		before := r.revision
		r.BeginMove(at, slot, id)
		return Answer{Existed: before == r.revision}
	default:
		g := r.slots.Pending(slot) + uint64(r.IntN(3))
		return r.AssignSlot(at, slot, table.Owner{Shard: uint64(1 + r.IntN(2)), Generation: g}, "too large")
	}
}

// membership changes one member of a shard, like an engine, and reports the change.
func (r *random) membership(at At, id ShardID) Answer {
	s := r.Shard(id)
	if len(s.Replicas) == 0 {
		return Answer{Existed: true}
	}
	chosen := r.IntN(len(s.Replicas))
	var list []Member
	for i := range s.Replicas {
		p := &s.Replicas[i]
		role := p.Role
		if i == chosen {
			role = map[Role]Role{RoleNone: RoleLearner, RoleLearner: RoleVoter, RoleVoter: RoleRemoved}[role]
		}
		if role == RoleLearner || role == RoleVoter {
			list = append(list, Member{Replica: p.ID, Role: role})
		}
	}
	if s.Replicas[chosen].Role == RoleRemoved {
		return r.Cleared(at, id, s.Replicas[chosen].ID, r.Host(s.Replicas[chosen].Host).Incarnation)
	}
	return r.Known(at, r.term(), id, s.Change+1, list)
}

// spoil applies some planted bugs after a command.
func (r *random) spoil(before *Records, a Answer) {
	h := *r.host()
	if r.bug != bugRefused && (a.Status != protocol.StatusSuccess || a.Existed) {
		return
	}
	switch r.bug {
	case bugReturns:
		if !h.Living() {
			h.Target.Variant = protocol.HostOnline
		}
	case bugEpoch:
		h.Current.Epoch = h.Target.Epoch + 1
	case bugNames:
		h.Name = r.host().Name
	case bugReplicaIDs:
		r.lastReplica = max(FirstReplica, r.lastReplica) - 1
	case bugBoot:
		h.Start.Number /= 2
	case bugHistory:
		if r.lastAudit > before.lastAudit {
			r.audit, r.lastAudit = before.audit, before.lastAudit
		}
	case bugAhead:
		if !h.Living() {
			h.Current = h.Target
		}
	case bugTwice:
		for _, o := range r.orders {
			if o.Into != 0 && before.slots == r.slots {
				t := *r.slots
				t.Attempt(o.Slot)
				r.slots = &t
			}
		}
	case bugRefused:
		if a.Status != protocol.StatusSuccess {
			h.Cordoned = !h.Cordoned
		}
	}
	if i, _ := r.hostIndex(h.ID); r.bug != noBug {
		r.hosts[i] = &h
	}
}

// step runs a command, and returns the violated invariant.
func (r *random) step() error {
	r.now += uint64(r.IntN(400))
	before, saved := r.Clone(), r.Save(nil)
	a := r.command()
	r.tally[a.Status]++
	r.spoil(before, a)
	after := r.Save(nil)
	changed := !bytes.Equal(saved, after)
	switch {
	case changed && (a.Status != protocol.StatusSuccess || a.Existed):
		return fmt.Errorf("%s, existed %t, and something changed: %s", a.Status, a.Existed, a.Text)
	case changed != (r.revision > before.revision):
		return fmt.Errorf("changed is %t, and the revision went from %d to %d", changed, before.revision, r.revision)
	case !bytes.Equal(before.Save(nil), saved):
		return fmt.Errorf("records that were cloned have changed")
	}
	loaded, err := Load(after)
	if err != nil || !bytes.Equal(loaded.Save(nil), after) {
		return fmt.Errorf("they are not loaded as they were saved: %v", err)
	}
	if r.bug == noBug && r.IntN(8) == 0 {
		r.Records = loaded // a restored replica continues
	}
	return r.check(before)
}

// check compares the records with their state before a command.
func (r *random) check(before *Records) error {
	names := map[string]bool{}
	for _, h := range r.hosts {
		old := before.Host(h.ID)
		switch {
		case h.Living() && r.expelled[h.ID]:
			return fmt.Errorf("host %d comes back", h.ID)
		case h.Living() && names[h.Name]:
			return fmt.Errorf("two hosts are named %s", h.Name)
		case h.Current.Epoch > h.Target.Epoch:
			return fmt.Errorf("host %d is ahead of its target", h.ID)
		case h.Start.Number < r.boots[h.ID] && h.Current.Variant != protocol.HostExpelled:
			return fmt.Errorf("host %d was started %d times and now %d", h.ID, r.boots[h.ID], h.Start.Number)
		case h.Current.Variant == protocol.HostExpelled && r.Holds(h.ID) &&
			old.Current.Variant != protocol.HostExpelled:
			return fmt.Errorf("host %d is expelled with replicas", h.ID)
		case old != nil && (!old.Current.same(&h.Current) || !old.Target.same(&h.Target)) &&
			r.lastAudit == before.lastAudit:
			return fmt.Errorf("host %d changes, and that is not written down", h.ID)
		}
		names[h.Name] = names[h.Name] || h.Living()
		r.expelled[h.ID], r.boots[h.ID] = !h.Living(), h.Start.Number
	}
	if r.slots != before.slots {
		if err := r.checkMoves(before); err != nil {
			return err
		}
	}
	for _, s := range r.shards {
		for i := range s.Replicas {
			p := &s.Replicas[i]
			if p.ID < FirstReplica {
				continue
			}
			if owner, known := r.ids[p.ID]; known && before.Shard(s.ID).Replica(p.ID) == nil {
				return fmt.Errorf("replica %d is given to host %d after host %d", p.ID, p.Host, owner)
			}
			r.ids[p.ID] = p.Host
		}
	}
	return nil
}

// checkMoves compares the slot table with its state before a command: a slot has one attempt at a time, and a new owner
// only by the outcome of the attempt.
func (r *random) checkMoves(before *Records) error {
	for slot := range shard.Slot(3) {
		e, old, g := r.slots.Of(slot), before.slots.Of(slot), before.slots.Pending(slot)
		switch {
		case e == old:
		case e.Owner == old.Owner && e.Last == old.Last+2 && g == 0:
			r.moves[0]++
		case e.Last == old.Last && g != 0 && e.Generation == g+1 && e.Shard == old.Shard:
			r.moves[1]++
		case e.Last == old.Last && g != 0 && e.Generation == g && ShardID(e.Shard) == before.SlotOrder(slot).Into:
			r.moves[2]++
		default:
			return fmt.Errorf("slot %d goes from %+v to %+v", slot, old, e)
		}
	}
	return nil
}

func play(seed uint64, b bug, tally map[protocol.Status]int, moves *[3]int) error {
	r := newRandom(seed, b)
	for n := range 200 {
		if err := r.step(); err != nil {
			return fmt.Errorf("command %d: %w", n, err)
		}
	}
	for status, n := range r.tally {
		tally[status] += n
	}
	for i, n := range r.moves {
		moves[i] += n
	}
	return nil
}

// TestInvariants: for any requests in any order, refused commands change nothing, saved records can be loaded, and
// identities, names, epochs and replica ids follow the rules.
func TestInvariants(t *testing.T) {
	tally, moves := map[protocol.Status]int{}, [3]int{}
	for seed := range uint64(200) {
		if err := play(seed, noBug, tally, &moves); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Log(tally, moves)
	if min(moves[1], moves[2]) < 20 {
		t.Errorf("attempts to move a slot: %d begun, %d kept, %d opened", moves[0], moves[1], moves[2])
	}
	for _, status := range []protocol.Status{protocol.StatusSuccess, protocol.StatusPreconditionFailed,
		protocol.StatusStale, protocol.StatusNotFound, protocol.StatusAlreadyExists} {
		if tally[status] < 500 {
			t.Errorf("%s came about %d times: the commands show too little of it", status, tally[status])
		}
	}
}

func TestPlantedBugsAreNoticed(t *testing.T) {
	seeds := [bugs]uint64{bugAhead: 1, bugTwice: 1}
	for b := noBug + 1; b < bugs; b++ {
		if err := play(seeds[b], b, map[protocol.Status]int{}, new([3]int)); err == nil {
			t.Errorf("%s: not noticed by seed %d", b, seeds[b])
		} else {
			t.Logf("%s: %v", b, err)
		}
	}
}

// FuzzLoad: invalid records are refused, and valid ones are written back unchanged.
func FuzzLoad(f *testing.F) {
	f.Add(New("c", []ShardID{1}).Save(nil))
	for seed := range uint64(4) {
		r := newRandom(seed, noBug)
		for range 60 {
			_ = r.step()
		}
		f.Add(r.Save(nil))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := Load(src)
		if err != nil {
			return
		}
		if again := r.Save(nil); !bytes.Equal(again, src) {
			t.Errorf("%x is written as %x", src, again)
		}
		for _, h := range r.Hosts() { // loaded records can be used
			r.Drain(At{}, h.Name)
			r.Expel(At{}, h.Name, true, 1)
			r.Boot(At{}, Boot{Host: h.ID, Incarnation: h.Incarnation, Start: start(h.Start.Number + 1),
				Addresses: addresses("x")})
		}
		for _, s := range r.Shards() {
			r.Known(At{}, 0, s.ID, s.Change+1, []Member{{Replica: 1, Role: RoleVoter}})
		}
		r.Join(At{}, joinOf("z", 250))
	})
}
