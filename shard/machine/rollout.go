package machine

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/rollout"
)

// RolloutKind describes the kind to machines.
func RolloutKind() KindRow {
	return KindRow{Number: shard.KindRollout, New: newRollouts, Commands: []CommandRow{
		{
			Kind:     shard.CmdRolloutPut,
			Mutation: Mutation{Run: runPut, Anonymous: true, Makes: putMakes, MostBody: MostRefusal},
		},
		{
			Kind:     shard.CmdRolloutDelete,
			Mutation: Mutation{Run: runRolloutDelete, Anonymous: true, MostBody: MostRefusal},
		},
		forAnyone(shard.CmdRolloutPublish, parsed("a publication", (*rolloutWork).publish)),
		forSessions(shard.CmdRolloutSource, parsed("a role of a source", (*rolloutWork).source)),
		forSessions(shard.CmdRolloutOffer, parsed("a offering", (*rolloutWork).offer)),
		forSessions(shard.CmdRolloutJoin, parsed("a joining", (*rolloutWork).join)),
		forSessions(shard.CmdRolloutLeave, (*rolloutWork).leave),
		forSessions(shard.CmdRolloutRole, (*rolloutWork).setRole),
		forSessions(shard.CmdRolloutReport, (*rolloutWork).report),
		forSessions(shard.CmdRolloutAsk, (*rolloutWork).ask),
		forAnyone(shard.CmdRolloutAct, parsed("a act", (*rolloutWork).act)),
		forAnyone(shard.CmdRolloutGate, parsed("a verdict", (*rolloutWork).judge)),
	}}
}

// forSessions is the row of a command by a session on an existing rollout.
func forSessions(k shard.CommandKind, does func(*rolloutWork, *shard.Command) rollout.Answer) CommandRow {
	run := func(m *Core, c *shard.Command, t *Target) { m.rollouts().run(m, c, t, does) }
	return CommandRow{Kind: k, Mutation: Mutation{Run: run, MostBody: MostRefusal}}
}

// forAnyone is the row of a command that may come without a session.
func forAnyone(k shard.CommandKind, does func(*rolloutWork, *shard.Command) rollout.Answer) CommandRow {
	c := forSessions(k, does)
	c.Anonymous = true
	return c
}

func runPut(m *Core, c *shard.Command, t *Target) { m.rollouts().put(m, c, t) }

func runRolloutDelete(m *Core, c *shard.Command, t *Target) { m.rollouts().delete(m, c, t) }

func (co *Core) rollouts() *rollouts { return co.Kind(shard.KindRollout).(*rollouts) }

// rollouts is the store of the kind. The embedded slab has the rollouts.
type rollouts struct {
	arena.Slab[stagedRollout]
	SmallStates
	parts      arena.Slab[rolloutPart]
	byLocation arena.Forest // of the parts with an instance: one tree for each location, by order id

	work   rolloutWork // of the command under way
	counts RolloutCounts
}

// stagedRollout is the state of one rollout in the store.
type stagedRollout struct {
	*rollout.Rollout
	object  arena.Handle
	charged int    // the size in its node's quota
	alarm   uint64 // the alarm of its object
	whole   ViewTrack
	ticket  ViewTrack
	tracks  []locationTracks // in the order of its locations
}

// locationTracks are the state of one location in the store.
type locationTracks struct {
	id                uint64
	target, instances ViewTrack
	parts             arena.Handle // root of the tree of its instances
}

// rolloutPart is the part of a session in a rollout: the body of the session's link. The session has an instance that
// joined, or is a source, or both.
type rolloutPart struct {
	instance rollout.Instance
	source   bool
	// answered is the highest number of the session that the host has answered without the log. It is no part of the
	// state, and readers set it too.
	answered atomic.Uint64
}

func (p *rolloutPart) joined() bool { return p.instance.Name != "" }

func newRollouts() Kind {
	ro := &rollouts{}
	ro.parts.Trees = []*arena.Forest{&ro.byLocation}
	return ro
}

// Before orders the instances of a location.
func (ro *rollouts) Before(a, b arena.Handle) bool {
	return ro.parts.At(a).instance.ID < ro.parts.At(b).instance.ID
}

func (ro *rollouts) StateSize(body arena.Handle) int { return ro.At(body).charged }

func (ro *rollouts) FreeState(body arena.Handle) { ro.Release(body) }

func (ro *rollouts) HoldingSize(body arena.Handle) int { return ro.parts.At(body).instance.Size() }

func (ro *rollouts) FreeHolding(body arena.Handle) { ro.parts.Release(body) }

func (ro *rollouts) Role(l *Holding) string {
	switch p := ro.parts.At(l.State); {
	case p.source && p.joined():
		return "source and " + p.instance.Role.String()
	case p.source:
		return "source"
	default:
		return p.instance.Role.String()
	}
}

// locationOf returns the tracks of a location, or nil for a location that is gone.
func (st *stagedRollout) locationOf(id uint64) *locationTracks {
	for k := range st.tracks {
		if st.tracks[k].id == id {
			return &st.tracks[k]
		}
	}
	return nil
}
