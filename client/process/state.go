package process

import (
	"bytes"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// State is a whole process at one moment. It never changes and may be shared.
type State struct {
	// Exists: there is a process. Where not, all that follows is zero. Only a Watch shows one that does not exist.
	Exists       bool
	Revision     uint64
	Spec         Spec
	SpecRevision uint64 // of the latest change of the spec
	Epoch        uint64 // the last that opened, 0 before the first
	Phase        Phase
	Since        client.Moment // from which it is in this phase
	Opened       client.Moment // when the epoch opened
	// Opens is how long it is until the next epoch opens, where Opening.
	Opening bool
	Opens   time.Duration
	// Coordinator is the id of the member that coordinates the epoch; it may have left.
	Coordinator uint64
	// Of is how many members the epoch has, or had.
	Of         int
	LastResult uint64 // the last epoch that was completed
	LastAct    PastAct
	Members    []MemberState // by id
	Results    []Result      // that are kept, without their payloads, by epoch
	// Reasons are why the round does not move: where they were asked for, and of a Watch.
	Reasons []StopReason
}

// Phase is how the last epoch is.
type Phase uint8

// The phases.
const (
	Forming   = Phase(protocol.ProcessIsForming)   // there is no round: none has begun, or the last one is over
	Preparing = Phase(protocol.ProcessIsPreparing) // an epoch opened, and not all of its members are prepared
	Running   = Phase(protocol.ProcessIsRunning)   // all are
	Complete  = Phase(protocol.ProcessIsComplete)  // its coordinator has completed the round
)

// String returns the phase in a word.
func (p Phase) String() string { return object.InWords(protocol.ProcessState(p).String()) }

// MemberState is a member as others see it.
type MemberState struct {
	Peer
	Joined client.Moment
	// Of: it is of the epoch; else it waits for the next one.
	Of        bool
	Prepared  uint64 // the last epoch for which it is prepared
	Completed uint64 // the last epoch whose completion it has handled
	Unread    int    // items that it has not acknowledged
}

// Result is what a coordinator left when it completed a round.
type Result struct {
	Epoch uint64
	// Size is that of the payload, which is not in all descriptions.
	Size int
	// At is when, where it was read from a description.
	At client.Moment
	Payload
}

// Verb is what was done to a process.
type Verb uint8

// The verbs.
const (
	VerbCreated = Verb(protocol.ProcessCreated)
	VerbAltered = Verb(protocol.ProcessAltered)
	VerbKick    = Verb(protocol.ProcessKick)    // a member was removed
	VerbRestart = Verb(protocol.ProcessRestart) // the round was ended
	VerbFailed  = Verb(protocol.ProcessFailed)  // a member gave the round up
)

// String returns the verb in a word.
func (v Verb) String() string { return object.InWords(protocol.ProcessVerb(v).String()) }

// PastAct is an act that was carried out.
type PastAct struct {
	Number uint64 // of the row, where it was read from Acts
	Verb   Verb
	At     client.Moment
	Epoch  uint64 // the last that had opened
	// MemberID and Member are of VerbKick and VerbFailed.
	MemberID uint64
	Member   string
	By       By
}

func (s *State) readHead(h *protocol.ProcessHead, now object.Clock) {
	s.Spec, s.SpecRevision = specOf(&h.Spec), h.SpecRevision
	s.Epoch, s.Phase, s.Since, s.Opened = h.Epoch, Phase(h.State), now.Moment(h.Since, 0), now.Moment(h.Opened, 0)
	s.Opening, s.Opens = h.OpensMillis != 0, now.Until(h.OpensMillis)
	s.Coordinator, s.Of, s.LastResult = h.Coordinator, int(h.Of), h.LastResult
	s.LastAct = pastActOf(0, &h.LastAct, now)
}

func memberStateOf(id uint64, m *protocol.ProcessMember, now object.Clock) MemberState {
	return MemberState{
		Peer: Peer{
			ID: id, Name: string(m.Name), Attributes: bytes.Clone(m.Attributes), Candidate: m.Candidate,
			SessionID: m.SessionID,
		},
		Joined: now.Moment(m.Joined, 0), Of: m.Of, Prepared: m.Prepared, Completed: m.Completed, Unread: int(m.Unread),
	}
}

func resultOf(m *protocol.ProcessResult, now object.Clock) Result {
	return Result{
		Epoch: m.Epoch, Size: int(m.PayloadBytes), At: now.Moment(m.Moment, m.WallMillis),
		Payload: payloadOf(m.Payload, MsgPack),
	}
}

func pastActOf(number uint64, m *protocol.ProcessActRow, now object.Clock) PastAct {
	return PastAct{
		Number: number, Verb: Verb(m.Verb), At: now.Moment(m.Moment, m.WallMillis), Epoch: m.Epoch,
		MemberID: m.MemberID, Member: string(m.Member), By: By{string(m.Author), string(m.Reason)},
	}
}

// Member returns the member of an id, nil where there is none.
func (s *State) Member(id uint64) *MemberState {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return nil
}
