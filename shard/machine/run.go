package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Run is the command under way: its effects, and how much it may still do.
type Run struct {
	Left    int    // pieces of work left for the command; the last piece may take it below zero
	Touched int    // how often the command touched holdings
	Wall    uint64 // the Time of the command

	out     *shard.Effects
	op      int32       // the index of the command
	stamp   clock.Stamp // of the batch
	result  int         // index of the command's Result in out.List, -1 before there is a Result
	target  Target
	speller arena.Speller // of names in effects
}

// Emit appends an effect of the current command. The pointer is good until the next Emit.
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

// Answer emits the current command's Result, exactly one.
func (ru *Run) Answer(s protocol.Status) *shard.Effect {
	if ru.result >= 0 {
		panic("shard: a command was answered twice")
	}
	ru.result = len(ru.out.List)
	e := ru.Emit(shard.EffectResult)
	e.Status = s
	return e
}
