package hosts

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
	table "github.com/signalbox/signalbox/shard/slots"
)

// formNumber is the first number for saved bytes.
const formNumber = 1

const (
	maxRecords   = MaxSpreadHosts + MaxExpelled
	maxClusterID = 64
)

// Save appends the records. Equal records have equal bytes.
func (r *Records) Save(dst []byte) []byte {
	return codec.Save(dst, r.code)
}

// Load decodes records.
func Load(src []byte) (*Records, error) {
	r := &Records{slots: &table.Table{}}
	if err := codec.Load(src, formNumber, "hosts: load", r.code, r.check); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Records) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Text(&r.cluster, maxClusterID)
	c.Number(&r.generation.Number)
	c.Fixed(r.generation.Draw[:])
	c.Numbers((*uint64)(&r.lastHost), (*uint64)(&r.lastShard), &r.lastReplica, &r.lastAudit, &r.revision)
	c.Fields(r.policy.Fields)
	codec.Pointers(c, &r.hosts, maxRecords, (*Host).code)
	codec.Pointers(c, &r.shards, MaxShards, (*Shard).code)
	codec.Pointers(c, &r.tokens, MaxTokens, (*Token).code)
	codec.List(c, &r.audit, MaxAudit, func(e *Entry) { e.code(c) })
	r.slots.Code(c)
	codec.Pointers(c, &r.orders, MaxSlotOrders, (*SlotOrder).code)
	r.rebalance.code(c)
	r.held.code(c)
	r.past.code(c)
}

func (p *past) code(c *codec.Coder) {
	c.Numbers((*uint64)(&p.counters.LastOrder), (*uint64)(&p.counters.LastRevision), &p.counters.LastSession,
		&p.longest.Timeout, (*uint64)(&p.longest.Session), &p.until)
}

func (h *Host) code(c *codec.Coder) {
	feature := uint64(h.Level)
	c.Numbers((*uint64)(&h.ID), &h.Start.Number, &h.Start.Draw, &feature, &h.Failures, &h.ReturnAfter,
		(*uint64)(&h.Replaces), &h.Grace,
		&h.Bare, &h.Changed)
	c.Must(feature <= 255, "the level is %d", feature)
	if c.Reading() {
		h.Level = level.Level(feature)
	}
	c.Text(&h.Name, MaxName)
	c.Fixed(h.Incarnation[:])
	c.Fields(h.Domain.Fields)
	c.Text(&h.Addresses.Raft, MaxAddress)
	c.Text(&h.Addresses.Client, MaxAddress)
	c.Text(&h.Addresses.Admin, MaxAddress)
	c.Text(&h.Version, MaxVersion)
	h.Current.code(c)
	h.Target.code(c)
	c.Flags(&h.Cordoned, &h.Lost)
	c.Number(&h.Weighs)
	h.Slow.code(c)
}

func (s *State) code(c *codec.Coder) {
	codec.Enum(c, &s.Variant, host.States)
	codec.Enum(c, &s.Reason, reasons)
	c.Numbers(&s.Epoch, &s.Since, &s.Wall)
	c.Text(&s.Text, MaxText)
}

func (s *Shard) code(c *codec.Coder) {
	c.Numbers((*uint64)(&s.ID), &s.Change, (*uint64)(&s.Wish), &s.WishUntil, &s.Transferred)
	codec.List(c, &s.Replicas, MaxSpreadReplicas, func(p *Replica) {
		c.Numbers(&p.ID, (*uint64)(&p.Host), &p.Since, &p.Change)
		codec.Enum(c, &p.Role, host.Roles)
		c.Flags(&p.Joined, &p.Filled)
	})
	c.Numbers(&s.Group, (*uint64)(&s.Counted.LastOrder), (*uint64)(&s.Counted.LastRevision), &s.Counted.LastSession,
		&s.CountedAt, &s.Bound.Term, &s.Bound.Number, &s.Bound.Longest.Timeout, (*uint64)(&s.Bound.Longest.Session),
		&s.First, &s.Ordered, (*uint64)(&s.Fence), &s.Weighs)
	c.Flags(&s.Empty, &s.Waits, &s.Overlap, &s.Fresh)
	codec.Enum(c, &s.Phase, shardPhases)
}

func (t *Token) code(c *codec.Coder) {
	c.Text(&t.ID, MaxTokenID)
	c.Fixed(t.Hash[:])
	c.Fixed(t.Used[:])
	c.Numbers(&t.Until, &t.Created)
	c.Text(&t.By, MaxText)
}

func (e *Entry) code(c *codec.Coder) {
	c.Numbers(&e.Number, (*uint64)(&e.Host), &e.Since, &e.Wall)
	codec.Enum(c, &e.Event, events)
	c.Text(&e.Name, MaxName)
	c.Text(&e.Text, MaxText)
	c.Text(&e.By, MaxText)
	c.Text(&e.Why, MaxText)
}

// check validates everything the rest of the package relies on, so corrupt bytes never produce records that break
// later.
func (r *Records) check(c *codec.Coder) {
	const end = 1 << 60 // a counter that restarts would issue a number twice
	c.Must(r.lastHost < end && r.lastReplica < end && r.lastAudit < end && r.revision < end, "a counter is too high")
	c.Must(r.lastReplica >= FirstReplica-1, "the replica counter is too low")
	err := r.policy.Check()
	c.Must(err == nil, "the policy: %v", err)
	last := shard.HostID(0)
	names := make(map[string]bool)
	incarnations := make(map[Incarnation]bool)
	for _, h := range r.hosts {
		c.Must(h.ID > last && h.ID <= r.lastHost && h.Changed <= r.revision, "host %d is out of order", h.ID)
		last = h.ID
		r.checkHost(c, h)
		c.Must(!h.Living() || !names[h.Name], "two hosts are named %s", h.Name)
		names[h.Name] = names[h.Name] || h.Living()
		c.Must(h.Incarnation == Incarnation{} || !incarnations[h.Incarnation], "two hosts have one incarnation")
		incarnations[h.Incarnation] = true
	}
	c.Must(r.Living() <= r.mostHosts(), "there are %d hosts", r.Living())
	c.Must(len(r.shards) > 0 && r.shards[0].ID == Meta, "there is no meta shard")
	for i, s := range r.shards {
		c.Must((i == 0 || s.ID > r.shards[i-1].ID) && s.ID <= r.lastShard, "shard %d is out of order", s.ID)
		c.Must(s.Weighs <= MaxWeight+1 && (s.ID != Meta || s.Phase == ShardServing), "shard %d has no weight", s.ID)
		c.Must(len(s.Replicas) <= r.mostReplicas(), "shard %d has %d replicas", s.ID, len(s.Replicas))
		r.checkReplicas(c, s)
	}
	for i, t := range r.tokens {
		c.Must(i == 0 || t.ID > r.tokens[i-1].ID, "a token is out of order")
		c.Must(t.ID != "", "a token is none")
	}
	r.checkAudit(c)
	r.checkSlots(c)
}

// checkAudit checks that no entry is missing: numbers jump only when a new cluster begins.
func (r *Records) checkAudit(c *codec.Coder) {
	last, jumps := uint64(0), false
	for i := range r.audit {
		e := &r.audit[i]
		jumps = jumps || e.Event == EventGeneration
		c.Must(e.Event != 0 && (e.Number == last+1 || e.Number > last && (e.Event == EventGeneration || i == 0)),
			"the audit history has a gap")
		last = e.Number
	}
	c.Must(last == r.lastAudit && (jumps || uint64(len(r.audit)) == min(r.lastAudit, MaxAudit)),
		"the audit history is cut off")
}

func (r *Records) checkHost(c *codec.Coder, h *Host) {
	c.Must(host.CheckWord("a name", h.Name, 1, MaxName) == nil && h.Domain.Check() == nil, "host %d has no name", h.ID)
	for _, s := range []*State{&h.Current, &h.Target} {
		c.Must(s.Variant != protocol.HostUnknown && s.Reason != 0, "host %d has no state", h.ID)
		c.Must(s.Epoch <= h.Target.Epoch, "host %d has a current state newer than the target", h.ID)
	}
	c.Must(h.Current.Variant != protocol.HostExpelled || !h.Living(),
		"host %d is expelled, but belongs to the cluster", h.ID)
	c.Must(h.Living() == (h.Target.Reason != ReasonExpelled && h.Target.Reason != ReasonReplaced),
		"host %d has a wrong reason", h.ID)
	c.Must(!h.Living() || h.Addresses.check() == nil, "host %d has no address", h.ID)
	c.Must(h.Weighs <= MaxWeight+1, "host %d has a weight above the maximum", h.ID)
}

func (r *Records) checkReplicas(c *codec.Coder, s *Shard) {
	c.Must(s.Group != 0 || s.First|s.Ordered|uint64(s.Fence) == 0 && !s.Waits && !s.Fresh,
		"shard %d has no later group", s.ID)
	c.Must(s.Waits || !s.Overlap, "shard %d does not wait", s.ID)
	for i := range s.Replicas {
		p := &s.Replicas[i]
		c.Must(p.ID != 0 && p.ID <= r.lastReplica && (i == 0 || p.ID > s.Replicas[i-1].ID),
			"replica %d in shard %d is out of order", p.ID, s.ID)
	}
}
