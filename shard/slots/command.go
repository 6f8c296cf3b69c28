package slots

import (
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber begins saved bytes: encoded commands, a shard's slots and the table.
const formNumber = 1

// Kind is a slot command in a data shard's log. The numbers are stored in logs and never change their meaning.
type Kind uint8

// The commands.
const (
	// Seal takes a slot's content out of the shard, to be offered to another shard.
	Seal Kind = 1 + iota
	// Open accepts the sealing shard's parcel.
	Open
	// Refuse ensures that a generation's parcel is never opened here.
	Refuse
	// Keep ends an attempt after the other shard's refusal: the slot stays here.
	Keep
	// GiveAway ends an attempt once the other shard has opened the parcel. With Forget the parcel is dropped too.
	GiveAway
	// Return takes back a given slot's parcel: the other shard lost its majority, and the surviving replica never
	// opened the parcel.
	Return
	// Yield drops a slot's content at the survivor in a shard without majority, because another shard has opened a
	// higher generation.
	Yield

	kinds
)

var kindNames = [kinds]string{
	Seal: "slot-seal", Open: "slot-open", Refuse: "slot-refuse", Keep: "slot-keep", GiveAway: "slot-away",
	Return: "slot-return", Yield: "slot-yield",
}

// String returns the command's name in logs.
func (k Kind) String() string { return kindNames[k] }

// Frees reports whether a command is accepted although the disk is full. Seal and Open are not: a disk that fills while
// a slot is sealed must not hold the slot captive, and a slot never begins to move to a full disk.
func (k Kind) Frees() bool { return k != Seal && k != Open }

// Command is one command on one slot.
type Command struct {
	Kind       Kind
	Slot       uint16
	Generation uint64 // the attempt's generation
	// Shard is the peer: the target for a seal and a yield, the origin for an open and a refuse.
	Shard uint64
	// Level is the sealing shard's level, as known to the seal's proposer. The target has confirmed that it supports
	// the level.
	Level level.Level
	// As is the slot's generation after a Return, newly issued by the meta shard.
	As uint64
	// Forget lets a GiveAway drop the parcel for a given slot.
	Forget bool
	// Parcel is the content, for an open.
	Parcel *Parcel
}

// Append appends the encoded command.
func (co *Command) Append(dst []byte) []byte {
	return codec.Save(dst, co.code)
}

// Parse decodes a command. Each command has exactly one encoding.
func Parse(src []byte) (co Command, err error) {
	c := codec.Reader(src)
	co.code(c)
	return co, c.Finish("slots: read a command")
}

func (co *Command) code(c *codec.Coder) {
	c.Form(formNumber)
	codec.Enum(c, &co.Kind, kinds)
	c.Must(co.Kind != 0, "a command has no kind")
	codec.Small(c, &co.Slot)
	c.Must(co.Slot < Count, "there is no slot %d", co.Slot)
	c.Number(&co.Generation)
	switch co.Kind {
	case Seal:
		c.Number(&co.Shard)
		codec.Small(c, &co.Level)
	case Open:
		c.Number(&co.Shard)
		if c.Reading() {
			co.Parcel = &Parcel{}
		}
		co.Parcel.code(c)
	case Refuse, Yield:
		c.Number(&co.Shard)
	case GiveAway:
		c.Flag(&co.Forget)
	case Return:
		c.Number(&co.As)
	}
}
