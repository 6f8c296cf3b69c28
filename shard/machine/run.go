package machine

import (
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Run is the command in progress: its effects, and how much work it may still do.
type Run struct {
	Left    int    // pieces of work left; the last piece may take it below zero
	Touched int    // how often the command touched holdings
	Wall    uint64 // the command's Time

	out     *shard.Effects
	op      int32       // the command's index
	stamp   clock.Stamp // the batch timestamp
	result  int         // index of the command's Result in out.List, -1 if there is no Result yet
	target  Target
	speller arena.Speller // for names in effects
}

// Emit appends an effect for the current command. The pointer is good until the next Emit.
func (ru *Run) Emit(k shard.EffectKind) *shard.Effect {
	list, n := ru.out.List, len(ru.out.List)
	if n == cap(list) {
		list = append(list, shard.Effect{})
	}
	ru.out.List = list[:n+1]
	e := &ru.out.List[n]
	*e = shard.Effect{Kind: k, Op: ru.op} // in place: an append would copy the effect
	return e
}

// Outcome is a command's outcome; the zero value is a success. The machine turns the Outcome into the command's Result,
// and into the answer the session keeps for a numbered command. An Outcome is small, because it is returned several
// times.
type Outcome struct {
	Status   protocol.Status
	Flags    shard.EffectFlags
	Quota    shard.Quota
	Order    shard.OrderID
	Revision shard.Revision
	Limit    uint64
	Timeout  uint64
	Body     string
}

// MostRefusal is the maximum length of the text for people in a refusal, in bytes.
const MostRefusal = 1024

// Refuse returns the outcome for a refused command, with a text for people.
func Refuse(status protocol.Status, text string) Outcome {
	if len(text) > MostRefusal {
		text = strings.Clone(codec.Cut(text, MostRefusal))
	}
	return Outcome{Status: status, Body: text}
}

// OverQuota returns the outcome for a command that would exceed a quota.
func OverQuota(q shard.Quota) Outcome {
	return Outcome{Status: protocol.StatusQuotaExceeded, Quota: q}
}

// Partly returns the outcome for a command that has done all its work, or only part if there is more.
func Partly(more bool) (o Outcome) {
	if more {
		o.Flags = shard.FlagMore
	}
	return o
}

// PlaceResult puts the Result before the effects that follow. Without PlaceResult the Result is the command's last
// effect. The pointer is for fields that are missing in Outcome, and good until the next Emit.
func (ru *Run) PlaceResult() *shard.Effect {
	assert.That(ru.result < 0, "a command has one result")
	ru.result = len(ru.out.List)
	return ru.Emit(shard.EffectResult)
}

// conclude builds the Result from the outcome.
func (ru *Run) conclude(o *Outcome) {
	if ru.result < 0 {
		ru.PlaceResult()
	}
	e := &ru.out.List[ru.result]
	e.Status, e.Flags, e.Quota = o.Status, o.Flags, o.Quota
	e.Order, e.Revision, e.Limit, e.Timeout = o.Order, o.Revision, o.Limit, o.Timeout
	if o.Body != "" {
		e.Body = o.Body
	}
}
