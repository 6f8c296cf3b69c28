package governor

import (
	"fmt"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/plan"
)

// Step kinds. The numbers are stored in logs and never change their meaning.
const (
	// KindTransfer transfers Shard's leadership from From to Host.
	KindTransfer plan.Kind = 1
	// KindAdd adds replica Replica on Host to Shard as a learner.
	KindAdd plan.Kind = 2
	// KindPromote makes Shard's learner Replica a voter.
	KindPromote plan.Kind = 3
	// KindRemove removes Replica, a voter or a learner, from Shard.
	KindRemove plan.Kind = 4
	// KindClear makes Host stop and delete Shard's Replica, which is no longer a member.
	KindClear plan.Kind = 5
	// KindFail sets Host's target to Offline, for Reason and Text.
	KindFail plan.Kind = 6
	// KindReach brings Host to its target.
	KindReach plan.Kind = 7
	// KindMoveSlot moves Slot from Shard to Into, in the attempt with the generation Number.
	KindMoveSlot plan.Kind = 8
	// KindServe lets the added Shard take slots.
	KindServe plan.Kind = 9
	// KindRetire deletes Shard, which is to be removed and owns nothing.
	KindRetire plan.Kind = 10
	// KindRestart begins the added Shard anew on Host, because its group Number cannot get its voters.
	KindRestart plan.Kind = 11
)

// Action is a step's work. Which fields count depends on the kind; the rest are zero.
type Action struct {
	Shard   hosts.ShardID
	Replica uint64
	// Host is the host the action concerns.
	Host shard.HostID
	From shard.HostID
	// Change numbers the membership the action was planned for: the engine refuses the action in any other membership.
	Change uint64
	// Variant and Epoch belong to Host's target at decision time.
	Variant protocol.HostState
	Epoch   uint64
	Reason  hosts.Reason
	Text    string

	Into   hosts.ShardID
	Slot   shard.Slot
	Number uint64
	// Large allows a slot above the usual size limit. One such slot moves at a time.
	Large bool
}

const formNumber = 1

func (a *Action) code(c *codec.Coder) {
	c.Form(formNumber)
	reason := uint64(a.Reason)
	c.Numbers((*uint64)(&a.Shard), &a.Replica, (*uint64)(&a.Host), (*uint64)(&a.From), &a.Change, &a.Epoch, &reason)
	c.Must(reason <= uint64(hosts.ReasonReplaced), "the reason is %d", reason)
	a.Reason = hosts.Reason(reason)
	codec.Enum(c, &a.Variant, protocol.HostExpelled+1)
	c.Text(&a.Text, hosts.MaxText)
	c.Numbers((*uint64)(&a.Into), &a.Number)
	codec.Small(c, &a.Slot)
	c.Flags(&a.Large)
}

func appendAction(dst []byte, a Action) []byte {
	return codec.Save(dst, a.code)
}

func readAction(src []byte) (a Action, err error) {
	c := codec.Reader(src)
	a.code(c)
	return a, c.Finish("governor: read a step")
}

// Config returns the common part of all governor plans.
func Config() *plan.Config[Action] {
	return &plan.Config[Action]{Open: 16, Delay: 1_000, MaxDelay: 60_000, Attempts: 3, Append: appendAction,
		Read: readAction}
}

// shardSubject is the subject for changes to one shard; at most one such change is in progress.
func shardSubject(id hosts.ShardID) plan.Subject {
	return plan.Subject("shard/" + strconv.FormatUint(uint64(id), 10))
}

// hostSubject is the subject for changes to one host's state.
func hostSubject(id shard.HostID) plan.Subject {
	return plan.Subject("host/" + strconv.FormatUint(uint64(id), 10))
}

// leadersSubject is occupied by a transfer that spreads leaders: at most one is in progress.
const leadersSubject plan.Subject = "leaders"

// largeSubject is occupied while a slot above the usual size limit may move.
const largeSubject plan.Subject = "large-slot"

// proposal turns an action into a step proposal.
func proposal(kind plan.Kind, a Action) plan.Proposal[Action] {
	pr := plan.Proposal[Action]{Kind: kind, Payload: a, Subject: shardSubject(a.Shard)}
	switch kind {
	case KindAdd:
		pr.With = []plan.Subject{plan.Subject("copy/" + strconv.FormatUint(uint64(a.Host), 10))}
	case KindClear:
		pr.Subject = plan.Subject(fmt.Sprintf("clear/%d/%d", a.Shard, a.Replica))
	case KindFail, KindReach:
		pr.Subject = hostSubject(a.Host)
	case KindMoveSlot:
		pr.Subject = slotSubject(a.Slot)
		pr.With = []plan.Subject{moveSubject(a.Shard), moveSubject(a.Into)}
		if a.Large {
			pr.With = append(pr.With, largeSubject)
		}
	}
	return pr
}

// describe describes a step for people.
func describe(v View, pr *plan.Proposal[Action]) string {
	a := &pr.Payload
	host := nameOf(v.State, a.Host)
	switch pr.Kind {
	case KindTransfer:
		return fmt.Sprintf("shard %d: handing the leadership from %s to %s", a.Shard, nameOf(v.State, a.From), host)
	case KindAdd:
		return fmt.Sprintf("shard %d: adding %s as a learner, replica %d", a.Shard, host, a.Replica)
	case KindPromote:
		return fmt.Sprintf("shard %d: making %s a voter", a.Shard, host)
	case KindRemove:
		return fmt.Sprintf("shard %d: removing %s, replica %d", a.Shard, host, a.Replica)
	case KindClear:
		return fmt.Sprintf("shard %d: deleting replica %d on %s", a.Shard, a.Replica, host)
	case KindFail:
		return fmt.Sprintf("host %s is to be offline: %s", host, a.Text)
	case KindMoveSlot:
		return fmt.Sprintf("slot %d: moving from shard %d to shard %d", a.Slot, a.Shard, a.Into)
	case KindServe:
		return fmt.Sprintf("shard %d has its voters and takes slots", a.Shard)
	case KindRetire:
		return fmt.Sprintf("shard %d owns nothing and is deleted", a.Shard)
	case KindRestart:
		return fmt.Sprintf("shard %d: beginning anew on %s", a.Shard, host)
	}
	return fmt.Sprintf("host %s becomes %s", host, a.Variant)
}

// nameOf returns a host's name, or a text if the host has no record.
func nameOf(r *hosts.Records, id shard.HostID) string {
	if h := r.Host(id); h != nil {
		return h.Name
	}
	return "an unknown host"
}
