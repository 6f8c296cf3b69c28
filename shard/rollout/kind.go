package rollout

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Kind describes the kind to machines.
func Kind() machine.KindRow {
	return machine.KindRow{Number: shard.KindRollout, New: newStore, Commands: []machine.CommandRow{
		{
			Kind:     shard.CmdRolloutPut,
			Mutation: machine.Mutation{Run: runPut, Anonymous: true, Makes: putMakes, MostBody: machine.MostRefusal},
		},
		{
			Kind:     shard.CmdRolloutDelete,
			Mutation: machine.Mutation{Run: runDelete, Anonymous: true, MostBody: machine.MostRefusal},
		},
		forAnyone(shard.CmdRolloutPublish, parsed("a publication", (*work).publish)),
		forSessions(shard.CmdRolloutSource, parsed("a role of a source", (*work).source)),
		forSessions(shard.CmdRolloutOffer, parsed("a offering", (*work).offer)),
		forSessions(shard.CmdRolloutJoin, parsed("a joining", (*work).join)),
		forSessions(shard.CmdRolloutLeave, (*work).leave),
		forSessions(shard.CmdRolloutRole, (*work).setRole),
		forSessions(shard.CmdRolloutReport, (*work).report),
		forSessions(shard.CmdRolloutAsk, (*work).ask),
		forAnyone(shard.CmdRolloutAct, parsed("a act", (*work).act)),
		forAnyone(shard.CmdRolloutGate, parsed("a verdict", (*work).judge)),
	}}
}

// forSessions is the row for a session's command on an existing rollout.
func forSessions(k shard.CommandKind, does func(*work, *shard.Command) Answer) machine.CommandRow {
	run := func(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
		return rolloutsOf(co).run(co, c, t, does)
	}
	return machine.CommandRow{Kind: k, Mutation: machine.Mutation{Run: run, MostBody: machine.MostRefusal}}
}

// forAnyone is the row for a command that may come without a session.
func forAnyone(k shard.CommandKind, does func(*work, *shard.Command) Answer) machine.CommandRow {
	c := forSessions(k, does)
	c.Anonymous = true
	return c
}

func rolloutsOf(co *machine.Core) *rollouts { return co.Kind(shard.KindRollout).(*rollouts) }

// rollouts is the kind's store. The embedded slab has the rollouts.
type rollouts struct {
	arena.Slab[stagedRollout]
	machine.SmallStates
	parts      arena.Slab[sessionPart]
	byLocation arena.Forest // session parts with an instance: one tree per location, by order id

	work   work // the command in progress
	counts Counts
}

// stagedRollout is one rollout's state in the store.
type stagedRollout struct {
	*Rollout
	object  arena.Handle
	charged int    // the bytes charged to its node's quota
	alarm   uint64 // the object's alarm
	whole   machine.ViewTrack
	ticket  machine.ViewTrack
	tracks  []locationTracks // in location order
}

// locationTracks are one location's state in the store.
type locationTracks struct {
	id                uint64
	target, instances machine.ViewTrack
	parts             arena.Handle // root of its instance tree
}

// sessionPart is a session's part in a rollout: the kind state in the session's holding. The session has a joined
// instance, or is a source, or both.
type sessionPart struct {
	instance Instance
	source   bool
	// answered is the highest session number the host has answered without the log. It is not part of the state, and
	// readers set it too.
	answered atomic.Uint64
}

func (p *sessionPart) joined() bool { return p.instance.Name != "" }

func newStore() machine.Kind {
	ro := &rollouts{}
	ro.parts.Trees = []arena.Beside{&ro.byLocation}
	return ro
}

// Before sorts a location's instances.
func (ro *rollouts) Before(a, b arena.Handle) bool {
	return ro.parts.At(a).instance.ID < ro.parts.At(b).instance.ID
}

func (ro *rollouts) StateSize(body arena.Handle) int { return ro.At(body).charged }

func (ro *rollouts) FreeState(body arena.Handle) { ro.Release(body) }

func (ro *rollouts) HoldingSize(body arena.Handle) int { return ro.parts.At(body).instance.Size() }

func (ro *rollouts) FreeHolding(body arena.Handle) { ro.parts.Release(body) }

func (ro *rollouts) Role(l *machine.Holding) string {
	switch p := ro.parts.At(l.State); {
	case p.source && p.joined():
		return "source and " + p.instance.Role.String()
	case p.source:
		return "source"
	default:
		return p.instance.Role.String()
	}
}

// locationOf returns a location's tracks, or nil if the location is deleted.
func (st *stagedRollout) locationOf(id uint64) *locationTracks {
	for k := range st.tracks {
		if st.tracks[k].id == id {
			return &st.tracks[k]
		}
	}
	return nil
}
