package machinetest

import (
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// Bed is a machine with sessions that send commands.
type Bed[M Machine] struct {
	M       M
	IDs     []shard.SessionID
	Numbers []uint64 // each session's last number
	Out     shard.Effects
	One     shard.Batch
	At      level.Level        // of the commands
	Record  func(*shard.Batch) // if not nil, receives each batch before Apply
}

// New returns a bed with sessions at the first feature level.
func New[M Machine](m M, sessions int) Bed[M] {
	b := Bed[M]{M: m, Numbers: make([]uint64, sessions), One: shard.Batch{Commands: make([]shard.Command, 1)}}
	for i := range sessions {
		b.Apply(&shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1,
			Timeout: 10_000})
		b.IDs = append(b.IDs, b.Result().Session)
	}
	return b
}

// NewAt returns a bed with sessions for a shard at a feature level.
func NewAt[M Machine](m M, l level.Level, sessions int) Bed[M] {
	b := New(m, sessions)
	b.Apply(&shard.Command{Kind: shard.CmdLevel, Count: uint64(l)})
	b.At = l
	return b
}

// Do applies a command.
func (b *Bed[M]) Do(c shard.Command) { b.Apply(&c) }

// Apply is Do without copying the command.
func (b *Bed[M]) Apply(c *shard.Command) {
	c.Level = max(c.Level, b.At)
	b.One.Commands[0] = *c
	b.Out.Reset()
	if b.Record != nil {
		b.Record(&b.One)
	}
	b.M.Apply(&b.One, &b.Out)
	if c.Kind == shard.CmdLead {
		b.One.Stamp.Term = max(b.One.Stamp.Term, c.Term)
	}
}

// Result returns the last command's result.
func (b *Bed[M]) Result() *shard.Effect {
	for i := range b.Out.List {
		if b.Out.List[i].Kind == shard.EffectResult {
			return &b.Out.List[i]
		}
	}
	panic("no result")
}

// As applies a mutation by session i with its next number.
func (b *Bed[M]) As(i int, c shard.Command) { b.ApplyAs(i, &c) }

// ApplyAs is As without copying the command.
func (b *Bed[M]) ApplyAs(i int, c *shard.Command) {
	b.Numbers[i]++
	c.Node, c.Session, c.Number, c.Acked = 1, b.IDs[i], b.Numbers[i], b.Numbers[i]-1
	b.Apply(c)
}

// Next returns the command as session i's next mutation.
func (b *Bed[M]) Next(i int, c shard.Command) shard.Command {
	b.Numbers[i]++
	c.Node, c.Session, c.Number, c.Acked = 1, b.IDs[i], b.Numbers[i], b.Numbers[i]-1
	return c
}

// Expire ends sessions as silence does.
func (b *Bed[M]) Expire(ids ...shard.SessionID) {
	_, changes := b.M.Slots()
	b.Do(shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Count: changes, Sessions: ids})
}

// PassTo sets the shard time, and handles everything due.
func (b *Bed[M]) PassTo(at uint64) {
	b.One.Stamp.Elapsed = at
	b.Do(shard.Command{Kind: shard.CmdDue, Term: 1})
}

// RenewalWait is how long a renewed shard waits, in milliseconds.
const RenewalWait = 12_000

// RenewAs continues with the shard's rebuilt machine, under a leader from the new group, with new sessions.
func (b *Bed[M]) RenewAs(m M) {
	b.M = m
	b.One.Stamp.Elapsed = 0
	b.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.Do(shard.Command{Kind: shard.CmdGroupWait, Term: 1, Count: 1, Timeout: RenewalWait})
	for i := range b.IDs {
		b.Do(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1, Timeout: 10_000})
		b.IDs[i] = b.Result().Session
	}
}
