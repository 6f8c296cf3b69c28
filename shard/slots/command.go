package slots

import (
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber is what saved bytes begin with: those of commands, of the slots of a shard and of the table.
const formNumber = 1

// Kind is a command on a slot in the log of a data shard. The numbers stand in logs and never change their meaning.
type Kind uint8

// The commands.
const (
	// Seal takes the content of a slot out of the shard, to be offered to another shard.
	Seal Kind = 1 + iota
	// Open takes in a parcel of the sealing shard.
	Open
	// Refuse makes sure that a parcel of a generation is never opened here.
	Refuse
	// Keep ends an attempt after the refusal of the other shard: the slot stays here.
	Keep
	// GiveAway ends an attempt whose parcel the other shard has opened. With Forget the parcel goes too.
	GiveAway
	// Return takes back the parcel of a given slot: the other shard lost its majority, and the surviving replica
	// never opened the parcel.
	Return
	// Yield drops the content of a slot at the survivor of a shard without majority, because another shard has
	// opened a higher generation.
	Yield

	kinds
)

var kindNames = [kinds]string{
	Seal: "slot-seal", Open: "slot-open", Refuse: "slot-refuse", Keep: "slot-keep", GiveAway: "slot-away",
	Return: "slot-return", Yield: "slot-yield",
}

// String returns the name of the command in logs.
func (k Kind) String() string { return kindNames[k] }

// Frees reports whether a command is taken although the disk is full. Seal and Open are not: a disk that fills while
// a slot is sealed must not hold the slot captive, and no slot begins to move to a full disk.
func (k Kind) Frees() bool { return k != Seal && k != Open }

// Command is one command on one slot.
type Command struct {
	Kind       Kind
	Slot       uint16
	Generation uint64 // of the attempt
	// Shard is the peer: the target of a seal and of a yield, the origin of an open and of a refuse.
	Shard uint64
	// Level is the level of the sealing shard, as the proposer of a seal believes. The target has confirmed to
	// follow.
	Level level.Level
	// As is the generation of the slot after a Return, handed out anew by the meta shard.
	As uint64
	// Forget lets a GiveAway drop the parcel of a slot that was given.
	Forget bool
	// Parcel is the content in an open.
	Parcel *Parcel
}

// Append appends the form of the command.
func (co *Command) Append(dst []byte) []byte {
	return codec.Save(dst, co.code)
}

// Parse reads the form of a command. Each command has exactly one form.
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
