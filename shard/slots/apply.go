package slots

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Content gives the rules access to the tables of a shard. All methods are called while a command is applied.
type Content interface {
	// Pack returns a slot's content and changes nothing. later is the reason if a seal has to wait: pending work or a
	// node being dropped has content in the slot. An error means that the slot is above the limits. The content must
	// depend only on the log.
	Pack(slot shard.Slot, limits Limits) (content *Snapshot, later string, err error)
	// TakeOut removes the slot's content from the tables. Nothing of the slot may stay in the tables, because changes
	// in other slots must not change the slot snapshot.
	TakeOut(slot shard.Slot)
	// Check returns an error if another shard's slot snapshot cannot be merged, and changes nothing. Check must detect
	// every error that a restore of a snapshot detects: a wrongly accepted slot snapshot would stop every replica,
	// again after each restart. Checks of limits must count the slot snapshots sealed in this shard, because sealed
	// slots may return.
	Check(slot shard.Slot, content *Snapshot) error
	// Merge adds a slot snapshot to the tables. Either Check has just accepted the slot snapshot, or this shard has
	// sealed the slot and takes it back. Taking back must always succeed, so Merge has no limits.
	Merge(slot shard.Slot, content *Snapshot)
}

// At is the shard's state at a command, besides the slots.
type At struct {
	Now   uint64 // shard time
	Level level.Level
	// Waits is set while a rebuilt shard grants nothing. Meanwhile, no slot leaves, arrives or is refused.
	Waits bool
}

// Outcome is a command's outcome.
type Outcome uint8

// The outcomes.
const (
	// Done: this command, or an equal earlier command, has changed the slot.
	Done Outcome = 1 + iota
	// Void: the command has no effect. The attempt has ended differently, or is older than the state.
	Void
	// Later: nothing has changed, and the same command may succeed later.
	Later
	// Opened: the shard has, or had, the content under this generation. The sealing shard proposes CmdSlotRelease.
	Opened
	// Refused: the shard never opened this generation, and never will. The sealing shard proposes CmdSlotCancel.
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

const waits = "the shard was rebuilt, and grants nothing yet"

func void(format string, args ...any) Answer { return Answer{Void, fmt.Sprintf(format, args...)} }

// Fits validates a slot command on its own, without the state.
func Fits(c *shard.Command) bool { return c.Slot < shard.Slots }

// Frees reports whether a slot command is accepted although the disk is full. Seal and open are refused, so no slot
// begins to move. All other slot commands are accepted: a move that has begun ends, even if the disk fills up
// meanwhile.
func Frees(k shard.CommandKind) bool { return k != shard.CmdSlotSeal && k != shard.CmdSlotOpen }

// Apply applies a command. Commands may be late, duplicated, or reordered, so every rule first checks the slot's state.
func (s *Slots) Apply(c *shard.Command, content Content, at At) Answer {
	switch c.Kind {
	case shard.CmdSlotSeal:
		return s.seal(c, content, at)
	case shard.CmdSlotOpen:
		return s.open(c, content, at)
	case shard.CmdSlotRefuse:
		return s.refuse(c, at)
	case shard.CmdSlotCancel:
		return s.cancel(c, content)
	case shard.CmdSlotRelease:
		return s.release(c, at.Now)
	case shard.CmdSlotReturn:
		return s.takeBack(c, content)
	case shard.CmdSlotSupersede:
		return s.supersede(c, content)
	}
	return void("there is no such command")
}

func (s *Slots) seal(c *shard.Command, content Content, at At) Answer {
	generation, to, x := c.Count, c.Number, s.Of(c.Slot)
	switch {
	case x.State == Sealed && x.Generation == generation && x.To == to:
		return Answer{Done, "sealed before"}
	case x.State != Owned:
		return void("the slot is %v here", x.State)
	case generation <= x.Generation || generation <= x.Seen:
		return void("generation %d is over: the shard has heard of %d", generation, max(x.Generation, x.Seen))
	case to == s.shard || to == 0:
		return void("the slot is here already")
	case c.Level != at.Level:
		return Answer{Later, fmt.Sprintf("the shard is at level %d", at.Level)}
	case at.Waits:
		return Answer{Later, waits}
	}
	limits := Normal
	if c.Flags&shard.FlagForce != 0 {
		limits = Large
	}
	sn, later, err := content.Pack(c.Slot, limits)
	switch {
	case err != nil:
		return void("%v", err)
	case later != "":
		return Answer{Later, later}
	}
	if err := limits.Check(len(sn.Bytes), int(sn.Records)); err != nil {
		return void("%v", err)
	}
	sn.Level = at.Level
	sn.Sign()
	content.TakeOut(c.Slot)
	record := s.slot(c.Slot)
	record.State, record.Generation, record.To, record.Content = Sealed, generation, to, sn
	record.Seen, record.Hint, record.Why = generation, Owner{to, generation}, ""
	s.disown(record)
	return Answer{Outcome: Done}
}

// open never asserts: everything is checked before anything changes.
func (s *Slots) open(c *shard.Command, content Content, at At) Answer {
	if ended, ok := s.ended(c); ok {
		return ended
	}
	if at.Waits {
		return Answer{Later, waits}
	}
	sn, err := Parse(c.Body)
	switch {
	case errors.Is(err, codec.ErrNewer):
		return Answer{Later, err.Error()}
	case err == nil && sn.Level > at.Level:
		return Answer{Later, fmt.Sprintf("the slot snapshot has level %d, the shard %d", sn.Level, at.Level)}
	}
	if x := s.Of(c.Slot); x.State == Owned || x.State == Sealed {
		return s.refused(c, fmt.Sprintf("the slot is %v here", x.State))
	}
	if err == nil {
		err = sn.check()
	}
	if err == nil {
		err = content.Check(c.Slot, sn)
	}
	if err != nil {
		return s.refused(c, err.Error())
	}
	s.own(s.slot(c.Slot), c.Count)
	content.Merge(c.Slot, sn)
	return Answer{Outcome: Opened}
}

// ended answers an open or a refuse whose generation is not above Seen. For a higher generation, ended returns false.
func (s *Slots) ended(c *shard.Command) (Answer, bool) {
	switch x := s.Of(c.Slot); {
	case x.State == Owned && x.Generation == c.Count, x.Seen > c.Count:
		// The meta shard begins a higher generation only after this attempt has ended, by an open here or by a cancel.
		// In both cases the answer has no effect at the sealing shard.
		return Answer{Outcome: Opened}, true
	case x.Seen == c.Count:
		return Answer{Refused, x.Why}, true
	}
	return Answer{}, false
}

// refuse is postponed while a rebuilt shard grants nothing. The lost replicas may have opened the slot and granted
// locks, and after a refusal the sealing shard would take the slot back and grant at once.
func (s *Slots) refuse(c *shard.Command, at At) Answer {
	if ended, ok := s.ended(c); ok {
		return ended
	}
	if at.Waits {
		return Answer{Later, waits}
	}
	return s.refused(c, "the move was cancelled")
}

// refused records that this shard never opens a generation. Requests are redirected to the keeping shard, under the
// attempt's second generation.
func (s *Slots) refused(c *shard.Command, why string) Answer {
	x := s.slot(c.Slot)
	x.Seen, x.Why = c.Count, codec.Cut(why, MaxWhy)
	x.Hint = Owner{c.Number, c.Count + 1}
	return Answer{Refused, x.Why}
}

func (s *Slots) cancel(c *shard.Command, content Content) Answer {
	x, next := s.Of(c.Slot), c.Count+1
	switch {
	case x.State == Owned && x.Generation == next:
		return Answer{Done, "cancelled before"}
	case x.State == Sealed && x.Generation == c.Count:
		s.own(s.slot(c.Slot), next)
		content.Merge(c.Slot, x.Content)
	case x.State == Owned && x.Generation < c.Count && x.Seen <= c.Count:
		s.own(s.slot(c.Slot), next) // the seal has not arrived, and is void from now on
	default:
		return void("the slot is %v(%d) here, and the shard has heard of %d", x.State, x.Generation, x.Seen)
	}
	return Answer{Outcome: Done}
}

func (s *Slots) release(c *shard.Command, now uint64) Answer {
	x := s.Of(c.Slot)
	forget := c.Flags&shard.FlagForget != 0
	switch {
	case x.Generation != c.Count:
		return void("the slot is %v(%d) here", x.State, x.Generation)
	case x.State == Sealed && !forget:
		x.State, x.Since = Transferred, now
	case x.State == Transferred && forget:
		x.State, x.Since, x.Content = Released, 0, nil
	case x.State == Transferred, x.State == Released:
		return Answer{Done, "released before"}
	default:
		return void("the slot is %v here", x.State)
	}
	*s.slot(c.Slot) = x
	return Answer{Outcome: Done}
}

func (s *Slots) takeBack(c *shard.Command, content Content) Answer {
	x, as := s.Of(c.Slot), c.Number
	switch {
	case x.State == Owned && x.Generation == as:
		return Answer{Done, "returned before"}
	case x.State != Transferred || x.Generation != c.Count:
		return void("the slot is %v(%d) here", x.State, x.Generation)
	case as <= x.Seen:
		return void("generation %d is over: the shard has heard of %d", as, x.Seen)
	}
	s.own(s.slot(c.Slot), as)
	content.Merge(c.Slot, x.Content)
	return Answer{Outcome: Done}
}

func (s *Slots) supersede(c *shard.Command, content Content) Answer {
	x := s.Of(c.Slot)
	switch {
	case c.Count <= x.Generation || c.Count < x.Seen:
		return void("the slot is %v(%d) here, and the shard has heard of %d", x.State, x.Generation, x.Seen)
	case c.Number == s.shard || c.Number == 0:
		return void("no other shard has the slot")
	case x.State == Owned:
		content.TakeOut(c.Slot)
	}
	record := s.slot(c.Slot)
	*record = Slot{
		Number: c.Slot, State: Released, Generation: c.Count, To: c.Number, Seen: c.Count,
		Hint: Owner{c.Number, c.Count},
	}
	s.disown(record)
	return Answer{Outcome: Done}
}
