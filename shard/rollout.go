package shard

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/rollout"
)

// KindRollout is the kind of staged rollouts. The rules of rollouts are in package rollout. The files of package
// shard that begin with "rollout" give each rollout a place in a node, its instances and sources their sessions, and
// its views their history.
const KindRollout ObjectKind = 2

// The commands of rollouts. If a command has a Body, the Body is a form of package rollout. Numbers up to 63 are
// reserved for commands of rollouts.
const (
	// CmdRolloutPut makes a rollout or alters it. Uses the mutation fields, Node, Name, and Body: a rollout.Put.
	CmdRolloutPut CommandKind = 48
	// CmdRolloutDelete deletes a rollout. Uses the mutation fields, Node, Name, and FlagForce.
	CmdRolloutDelete CommandKind = 49
	// CmdRolloutPublish adds a version. Uses the mutation fields, Node, Name, Body: a rollout.Publication, and Data:
	// its payload.
	CmdRolloutPublish CommandKind = 50
	// CmdRolloutSource makes the session a source, or takes that back. Uses the mutation fields, Node, Name, and Body:
	// a rollout.SourceRole.
	CmdRolloutSource CommandKind = 51
	// CmdRolloutOffer answers the question to the source. Uses the mutation fields, Node, Name, Body: a
	// rollout.Offering, and Data: its payload.
	CmdRolloutOffer CommandKind = 52
	// CmdRolloutJoin makes the session an instance. Uses the mutation fields, Node, Name, and Body: a rollout.Joining.
	CmdRolloutJoin CommandKind = 53
	// CmdRolloutLeave ends the session's instance. Uses the mutation fields, Node, Name.
	CmdRolloutLeave CommandKind = 54
	// CmdRolloutRole makes the session's instance a follower or a leader. Uses the mutation fields, Node, Name, and
	// Count: 1 for a leader, else 0.
	CmdRolloutRole CommandKind = 55
	// CmdRolloutReport says how the session's instance is getting on. Uses the mutation fields, Node, Name, and Body: a
	// rollout.Report.
	CmdRolloutReport CommandKind = 56
	// CmdRolloutAsk reports, and asks for the target. Uses the fields of CmdRolloutReport.
	CmdRolloutAsk CommandKind = 57
	// CmdRolloutAct is an operator's act. Uses the mutation fields, Node, Name, and Body: a rollout.Act.
	CmdRolloutAct CommandKind = 58
	// CmdRolloutGate is what a checker says of a target. Uses the mutation fields, Node, Name, and Body: a
	// rollout.GateVerdict.
	CmdRolloutGate CommandKind = 59
)

func init() {
	addKind(KindRollout, kindRow{
		name: "rollout", newStore: newRollouts,
	}, []kindCommand{
		{
			kind: CmdRolloutPut, name: "rollout-put", timed: true,
			mutation: mutation{run: runPut, anonymous: true, makes: putMakes, mostBody: mostRefusal},
		},
		{
			kind: CmdRolloutDelete, name: "rollout-delete", timed: true,
			mutation: mutation{run: runRolloutDelete, anonymous: true, mostBody: mostRefusal},
		},
		forAnyone(CmdRolloutPublish, "rollout-publish", parsed("a publication", (*rolloutWork).publish)),
		forSessions(CmdRolloutSource, "rollout-source", parsed("a role of a source", (*rolloutWork).source)),
		forSessions(CmdRolloutOffer, "rollout-offer", parsed("a offering", (*rolloutWork).offer)),
		forSessions(CmdRolloutJoin, "rollout-join", parsed("a joining", (*rolloutWork).join)),
		forSessions(CmdRolloutLeave, "rollout-leave", (*rolloutWork).leave),
		forSessions(CmdRolloutRole, "rollout-role", (*rolloutWork).setRole),
		forSessions(CmdRolloutReport, "rollout-report", (*rolloutWork).report),
		forSessions(CmdRolloutAsk, "rollout-ask", (*rolloutWork).ask),
		forAnyone(CmdRolloutAct, "rollout-act", parsed("a act", (*rolloutWork).act)),
		forAnyone(CmdRolloutGate, "rollout-gate", parsed("a verdict", (*rolloutWork).judge)),
	})
}

// forSessions is the row of a command by a session on an existing rollout.
func forSessions(k CommandKind, name string, does func(*rolloutWork, *Command) rollout.Answer) kindCommand {
	run := func(m *Machine, c *Command, t *target) { m.rollouts().run(m, c, t, does) }
	return kindCommand{kind: k, name: name, timed: true, mutation: mutation{run: run, mostBody: mostRefusal}}
}

// forAnyone is the row of a command that may come without a session.
func forAnyone(k CommandKind, name string, does func(*rolloutWork, *Command) rollout.Answer) kindCommand {
	c := forSessions(k, name, does)
	c.anonymous = true
	return c
}

func runPut(m *Machine, c *Command, t *target) { m.rollouts().put(m, c, t) }

func runRolloutDelete(m *Machine, c *Command, t *target) { m.rollouts().delete(m, c, t) }

func (m *Machine) rollouts() *rollouts { return m.kinds[KindRollout].(*rollouts) }

// rollouts is the store of the kind. The embedded slab has the rollouts.
type rollouts struct {
	arena.Slab[stagedRollout]
	smallThings
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
	whole   viewTrack
	ticket  viewTrack
	tracks  []locationTracks // in the order of its locations
}

// locationTracks are the state of one location in the store.
type locationTracks struct {
	id                uint64
	target, instances viewTrack
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

func newRollouts() kind {
	ro := &rollouts{}
	ro.parts.Trees = []*arena.Forest{&ro.byLocation}
	return ro
}

// Before orders the instances of a location.
func (ro *rollouts) Before(a, b arena.Handle) bool {
	return ro.parts.At(a).instance.ID < ro.parts.At(b).instance.ID
}

func (ro *rollouts) bodySize(body arena.Handle) int { return ro.At(body).charged }

func (ro *rollouts) free(body arena.Handle) { ro.Release(body) }

func (ro *rollouts) linkSize(body arena.Handle) int { return ro.parts.At(body).instance.Size() }

func (ro *rollouts) freeLink(body arena.Handle) { ro.parts.Release(body) }

func (ro *rollouts) role(l *link) string {
	switch p := ro.parts.At(l.body); {
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
