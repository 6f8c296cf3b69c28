package governor

import (
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// View is the input for rules.
type View = plan.View[*hosts.Records, *Seen, Action]

// Reason codes, beside the codes in package plan.
const (
	CodeSilent      plan.Code = "no-contact"          // no contact with a host
	CodeFresh       plan.Code = "not-up-to-date"      // a host has not confirmed for long enough that it is up to date
	CodeExpelling   plan.Code = "expelling"           // a host is being expelled
	CodeGone        plan.Code = "not-in-cluster"      // a host does not belong to the cluster
	CodeCordoned    plan.Code = "cordoned"            // a host gets nothing new
	CodeOffline     plan.Code = "offline"             // a host is not online
	CodeFull        plan.Code = "disk-full"           // a host's disk is nearly full
	CodeSnapshot    plan.Code = "snapshot"            // a learner waits for its snapshot
	CodeBehind      plan.Code = "lagging"             // a learner is not up to date
	CodeNoReport    plan.Code = "no-report"           // no contact with a shard's leader
	CodeNoLeader    plan.Code = "no-leader"           // a shard has no leader
	CodeMembership  plan.Code = "membership"          // a changed membership is not on record yet
	CodeQuorum      plan.Code = "no-quorum"           // too few voters are alive, or would be
	CodeLeads       plan.Code = "is-leader"           // a voter leads and cannot go before a transfer
	CodeNoSuccessor plan.Code = "no-successor"        // no voter is able to lead
	CodeDeadVoter   plan.Code = "dead-voter"          // a voter is away, to be replaced later
	CodeNoSpare     plan.Code = "no-eligible-learner" // a voter is away, and no learner can replace it
	CodeFew         plan.Code = "too-few-voters"      // too few replicas vote, and too few can
	CodeCopies      plan.Code = "replica-build-limit" // a replica is added when others are built
	CodeRest        plan.Code = "rebalance-cooldown"  // leadership was transferred recently
	CodeMoot        plan.Code = "obsolete"            // a step's reason is over
	CodeAway        plan.Code = "host-offline"        // a cluster host should not be online, or was never started
	CodeDue         plan.Code = "pending"             // a step only waits for time, or for the next round
	CodeTier        plan.Code = "not-meta-voter"      // a host has no vote in the meta shard by the policy
	CodeSlow        plan.Code = "slow"                // a host is many times slower than the others
	CodeNoPlace     plan.Code = "no-eligible-host"    // a shard lacks a replica, and no host takes one
	CodeKept        plan.Code = "slot-kept"           // a slot stays after failed attempts to move it
	CodeQueued      plan.Code = "slot-move-limit"     // slots wait to move
	CodeHeld        plan.Code = "held-by-backup"      // a backup holds slot moves
	CodeRebuilt     plan.Code = "rebuilt"             // a rebuilt shard grants nothing yet
	CodePaused      plan.Code = "rebalance-paused"    // an operator has paused the moves by the weights
	CodePacing      plan.Code = "rebalance-pacing"    // a shard rests between moves, or commits slowly
	CodeQuota       plan.Code = "quota"               // a shard is too full for more slots
	CodeJoining     plan.Code = "shard-joining"       // an added shard has not all its voters
	CodeLeaving     plan.Code = "shard-leaving"       // a shard is to be removed and still owns something
)

// finding is a rule's result, under construction.
type finding plan.Finding[Action]

// because notes a reason, if there is one.
func (f *finding) because(r *plan.Reason) {
	if r != nil {
		f.Reasons = append(f.Reasons, *r)
	}
}

// propose adds a step if allowed, and otherwise the reason against it. It reports whether the step was added.
func (f *finding) propose(v View, kind plan.Kind, a Action) bool { return f.add(v, proposal(kind, a)) }

func (f *finding) add(v View, pr plan.Proposal[Action]) bool {
	if r := forbidden(v, pr.Kind, &pr.Payload); r != nil {
		f.because(r)
		return false
	}
	f.Steps = append(f.Steps, pr)
	return true
}

// Planner returns the governor: its rules in priority order, and its step kinds.
func Planner() *plan.Planner[*hosts.Records, *Seen, Action] {
	pl := &plan.Planner[*hosts.Records, *Seen, Action]{
		Pass: func(v View, millis uint64) (*hosts.Records, *Seen) { return v.State, v.Seen.pass(millis) },
	}
	for _, rule := range []struct {
		name string
		find func(View) finding
	}{
		{"governor", ruleGovernor},
		{"attempts", ruleAttempts},
		{"failed", ruleFailed},
		{"leaving", ruleLeaving},
		{"wish", ruleWish},
		{"slow", ruleSlow},
		{"dead", ruleDead},
		{"few", ruleFew},
		{"shards", ruleShards},
		{"online", ruleOnline},
		{"expelled", ruleExpelled},
		{"away", ruleAway},
		{"hold", ruleHold}, // later rules wait while a shard has no leader
		{"excess", ruleExcess},
		{"clear", ruleClear},
		{"copies", ruleCopies},
		{"places", rulePlaces},
		{"calm", ruleCalm}, // the same for shards with replicas on only some hosts
		{"domains", ruleDomains},
		{"spread", ruleSpread},
		{"leaders", ruleLeaders},
		{"slots", ruleSlots},
		{"balance", ruleBalance},
		{"lagging", ruleLagging},
		{"filling", ruleFilling},
	} {
		find := rule.find
		pl.Rules = append(pl.Rules, plan.Rule[*hosts.Records, *Seen, Action]{Name: rule.name,
			Find: func(v View) plan.Finding[Action] { return plan.Finding[Action](find(v)) }})
	}
	for kind := KindTransfer; kind <= KindRestart; kind++ {
		pl.Types = append(pl.Types, stepType(kind))
	}
	return pl
}

// dueWaits is how many time steps Why looks ahead for a due step.
const dueWaits = 16

// Why returns the open steps, the reasons why something is unhealthy, and the due step: a step that only waits for
// time, or for an executor's next round. Without any reason all work is done, and stays done if nothing happens.
func Why(pl *plan.Planner[*hosts.Records, *Seen, Action], v View) []plan.Reason {
	reasons := pl.Next(v).Reasons
	if d := pl.Due(v, dueWaits); d != nil {
		reasons = append(reasons, plan.Reason{Rule: d.Rule, Code: CodeDue, Text: describe(v, &d.Proposal),
			Subjects: append([]plan.Subject{d.Subject}, d.With...), Until: d.At})
	}
	return reasons
}

// Begin opens a step, as the meta machine does: in the plan and in the records. term is the proposing leader's term.
func Begin(at hosts.At, r *hosts.Records, p *plan.Plan[Action], term, revision uint64,
	pr plan.Proposal[Action]) (plan.ID,
	plan.Outcome) {
	if !fits(r, &pr) || pr.Kind == KindMoveSlot && r.MovesHeld(at.Now) != nil && !inProgress(r, pr.Payload.Slot) {
		return 0, plan.Unfit
	}
	id, out := p.Begin(plan.Moment{Now: at.Now, Term: at.Term}, term, revision, pr)
	if out == plan.Applied {
		allot(at, r, pr.Kind, &pr.Payload)
	}
	return id, out
}
