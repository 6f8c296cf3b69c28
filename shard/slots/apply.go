package slots

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Content is the rules' interface to the shard that embeds them. All methods are called while a command is applied.
type Content interface {
	// Pack returns a slot's content and changes nothing. later is the reason why a seal has to wait: pending work or a
	// node being dropped has a part in the slot. The content must depend only on the log.
	Pack(slot uint16) (p *Parcel, later string)
	// TakeOut removes the packed content from the tables. Nothing of the slot may be left: meanwhile, changes in other
	// slots must not change the parcel.
	TakeOut(slot uint16)
	// Check returns the reason why another shard's parcel cannot be accepted, and changes nothing. Check must look for
	// everything that restoring a snapshot looks for: a wrongly accepted parcel would stop every replica, repeatedly.
	// Bounds must count the parcels sealed here, because a sealed parcel may come back.
	Check(slot uint16, p *Parcel) error
	// TakeIn merges a parcel into the tables: either a parcel accepted by Check, or this shard's own parcel coming
	// back. The latter must always succeed, so TakeIn has no bounds.
	TakeIn(slot uint16, p *Parcel)
}

// Outcome is a command's outcome.
type Outcome uint8

// The outcomes.
const (
	// Done: the command changed the slot, or had done so before.
	Done Outcome = 1 + iota
	// Void: the command has no effect. The attempt has ended differently, or is older than the state.
	Void
	// Later: nothing has changed, and the same command may succeed later.
	Later
	// Opened: the shard has, or had, the content under this generation. The sealing shard proposes GiveAway.
	Opened
	// Refused: the shard never opened this generation, and never will. The sealing shard proposes Keep.
	Refused

	outcomes
)

var outcomeNames = [outcomes]string{
	Done: "done", Void: "void", Later: "later", Opened: "opened", Refused: "refused",
}

// String formats the outcome for people.
func (o Outcome) String() string { return outcomeNames[o] }

// Answer is a command's outcome, with the reason if the command has no effect.
type Answer struct {
	Outcome Outcome
	Reason  string
}

func void(format string, args ...any) Answer { return Answer{Void, fmt.Sprintf(format, args...)} }

// Apply applies a command. now is the shard time. Commands may be late, duplicated, or reordered: every rule first
// looks at the slot's state.
func (s *Slots) Apply(c *Command, content Content, now uint64) Answer {
	if _, known := s.find(c.Slot); !known && c.Kind != Open && c.Kind != Refuse && c.Kind != Yield {
		return void("the shard never had the slot")
	}
	switch c.Kind {
	case Seal:
		return s.seal(c, content)
	case Open:
		return s.open(c, content)
	case Refuse:
		return s.refuse(c)
	case Keep:
		return s.keep(c, content)
	case GiveAway:
		return s.giveAway(c, now)
	case Return:
		return s.takeBack(c, content)
	case Yield:
		return s.yield(c, content)
	}
	return void("there is no such command")
}

func (s *Slots) seal(c *Command, content Content) Answer {
	x := s.slot(c.Slot)
	switch {
	case x.State == Sealed && x.Generation == c.Generation && x.To == c.Shard:
		return Answer{Done, "sealed before"}
	case x.State != Owned:
		return void("the slot is %v here", x.State)
	case c.Generation <= x.Generation || c.Generation <= x.Seen:
		return void("generation %d is over: the shard has heard of %d", c.Generation, max(x.Generation, x.Seen))
	case c.Shard == s.shard:
		return void("the slot is here already")
	case c.Level != s.level:
		return Answer{Later, fmt.Sprintf("the shard is at level %d", s.level)}
	}
	p, later := content.Pack(c.Slot)
	if later != "" {
		return Answer{Later, later}
	}
	if err := p.small(); err != nil {
		return void("%v", err)
	}
	p.Level = s.level
	p.Digest = p.digest()
	content.TakeOut(c.Slot)
	x.State, x.Generation, x.To, x.Parcel = Sealed, c.Generation, c.Shard, p
	x.Seen, x.Hint = c.Generation, Place{c.Shard, c.Generation}
	return Answer{Outcome: Done}
}

// open never asserts: everything is checked before anything changes.
func (s *Slots) open(c *Command, content Content) Answer {
	if ended, ok := s.ended(c); ok {
		return ended
	}
	if c.Parcel.Level > s.level {
		return Answer{Later, fmt.Sprintf("the parcel has level %d, the shard %d", c.Parcel.Level, s.level)}
	}
	x := s.slot(c.Slot)
	if x.State == Owned || x.State == Sealed {
		return s.refused(x, c, fmt.Sprintf("the slot is %v here", x.State))
	}
	err := c.Parcel.check()
	if err == nil {
		err = content.Check(c.Slot, c.Parcel)
	}
	if err != nil {
		return s.refused(x, c, err.Error())
	}
	content.TakeIn(c.Slot, c.Parcel)
	x.own(c.Generation)
	return Answer{Outcome: Opened}
}

// ended answers an open, or a refuse, for a generation the shard has heard of.
func (s *Slots) ended(c *Command) (Answer, bool) {
	switch x := s.Of(c.Slot); {
	case x.State == Owned && x.Generation == c.Generation, x.Seen > c.Generation:
		// The meta shard begins a higher generation only after this attempt has ended, by an open here or by a keep. In
		// both cases the answer has no effect at the sealing shard.
		return Answer{Outcome: Opened}, true
	case x.Seen == c.Generation:
		return Answer{Refused, x.Why}, true
	}
	return Answer{}, false
}

func (s *Slots) refuse(c *Command) Answer {
	if ended, ok := s.ended(c); ok {
		return ended
	}
	return s.refused(s.slot(c.Slot), c, "the move was cancelled")
}

// refused records that a generation is never to be opened here. Requests go to the keeping shard, under the attempt's
// second generation.
func (s *Slots) refused(x *Slot, c *Command, why string) Answer {
	x.Seen, x.Why = c.Generation, codec.Cut(why, MaxWhy)
	x.Hint = Place{c.Shard, c.Generation + 1}
	return Answer{Refused, x.Why}
}

func (s *Slots) keep(c *Command, content Content) Answer {
	x := s.slot(c.Slot)
	switch {
	case x.State == Owned && x.Generation == c.Generation+1:
		return Answer{Done, "kept before"}
	case x.State == Sealed && x.Generation == c.Generation:
		content.TakeIn(c.Slot, x.Parcel)
	case x.State == Owned && x.Generation < c.Generation && x.Seen <= c.Generation:
		// The seal has not arrived, and is void from now on.
	default:
		return void("the slot is %v(%d) here, and the shard has heard of %d", x.State, x.Generation, x.Seen)
	}
	x.own(c.Generation + 1)
	return Answer{Outcome: Done}
}

func (s *Slots) giveAway(c *Command, now uint64) Answer {
	x := s.slot(c.Slot)
	switch {
	case x.Generation != c.Generation:
		return void("the slot is %v(%d) here", x.State, x.Generation)
	case x.State == Sealed && !c.Forget:
		x.State, x.Since = Given, now
	case x.State == Given && c.Forget:
		x.State, x.Since, x.Parcel = Away, 0, nil
	case x.State == Given, x.State == Away:
		return Answer{Done, "given away before"}
	default:
		return void("the slot is %v here", x.State)
	}
	return Answer{Outcome: Done}
}

func (s *Slots) takeBack(c *Command, content Content) Answer {
	x := s.slot(c.Slot)
	switch {
	case x.State == Owned && x.Generation == c.As:
		return Answer{Done, "returned before"}
	case x.State != Given || x.Generation != c.Generation:
		return void("the slot is %v(%d) here", x.State, x.Generation)
	case c.As <= x.Seen:
		return void("generation %d is over: the shard has heard of %d", c.As, x.Seen)
	}
	content.TakeIn(c.Slot, x.Parcel)
	x.own(c.As)
	return Answer{Outcome: Done}
}

func (s *Slots) yield(c *Command, content Content) Answer {
	x := s.slot(c.Slot)
	switch {
	case c.Generation <= x.Generation || c.Generation < x.Seen:
		return void("the slot is %v(%d) here, and the shard has heard of %d", x.State, x.Generation, x.Seen)
	case x.State == Owned:
		content.TakeOut(c.Slot)
	}
	*x = Slot{
		Number: c.Slot, State: Away, Generation: c.Generation, To: c.Shard, Seen: c.Generation,
		Hint: Place{c.Shard, c.Generation},
	}
	return Answer{Outcome: Done}
}

// own makes the shard a slot's owner, with the content in the tables.
func (slot *Slot) own(generation uint64) {
	*slot = Slot{Number: slot.Number, State: Owned, Generation: generation, Seen: max(slot.Seen, generation)}
}
