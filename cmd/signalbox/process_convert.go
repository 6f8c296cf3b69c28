package main

import (
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newProcessObject returns a process as it is printed, as it is when so much time has passed since it was read and
// nothing else has happened.
func newProcessObject(path, name string, s *process.State, elapsed time.Duration) *processObject {
	a := ages{elapsed}
	o := &processObject{
		Path: path, Name: name, Exists: s.Exists, Revision: s.Revision, Phase: s.Phase.String(),
		PhaseMS: a.since(s.Since), Epoch: s.Epoch, OpenedMS: a.since(s.Opened), Coordinator: s.Coordinator, Of: s.Of,
		Members: []processMemberObject{}, Reasons: []processReasonObject{}, Results: []processResultObject{},
		Spec: newProcessSpecObject(s),
	}
	if s.Opening {
		left := cli.Millis(max(0, s.Opens-elapsed))
		o.OpensMS = &left
	}
	for i := range s.Members {
		o.Members = append(o.Members, a.member(&s.Members[i], o))
	}
	for _, r := range s.Reasons {
		o.Reasons = append(o.Reasons, a.processReason(r))
	}
	for i := range s.Results {
		o.Results = append(o.Results, a.result(&s.Results[i]))
	}
	if s.LastAct.At.Happened {
		act := a.processAct(s.LastAct)
		o.LastAct = &act
	}
	return o
}

// member is a member of a process.
func (a ages) member(m *process.MemberState, of *processObject) processMemberObject {
	o := processMemberObject{
		ID: m.ID, Member: m.Name, SessionID: cli.ID(m.SessionID), Role: roleCandidate, Of: m.Of, Prepared: m.Prepared,
		Completed: m.Completed, Unread: m.Unread, JoinedMS: a.since(m.Joined), Payload: cli.NewPayload(m.Attributes),
	}
	switch {
	case m.Of && m.ID == of.Coordinator:
		o.Role = roleCoordinator
	case !m.Candidate:
		o.Role = roleObserver
	}
	o.State = o.stateIn(of)
	return o
}

func (a ages) processReason(r process.StopReason) processReasonObject {
	named := r.Named
	if named == nil {
		named = []uint64{}
	}
	return processReasonObject{
		r.Code, r.Text, r.Blocked, r.Late, r.Epoch, r.Exchange, r.From, r.Waiting, r.Of, named, a.since(r.Since),
		a.left(r.Left),
	}
}

func (a ages) result(r *process.Result) processResultObject {
	return processResultObject{Epoch: r.Epoch, Bytes: r.Size, AgeMS: a.since(r.At), At: sinceField(r.At.Wall)}
}

func (a ages) processAct(p process.PastAct) processActObject {
	return processActObject{
		p.Verb.String(), p.Epoch, p.MemberID, p.Member, p.By.Author, p.By.Reason, a.since(p.At),
		sinceField(p.At.Wall), p.At.Time,
	}
}

// newProcessSpecObject returns what an operator has said of a process.
func newProcessSpecObject(s *process.State) processSpecObject {
	return processSpecObject{
		s.SpecRevision, cli.Millis(s.Spec.OpenDelay), cli.Millis(s.Spec.MaxOpenDelay), s.Spec.MinMembers,
		cli.Millis(s.Spec.ReplyTimeout), s.Spec.OnTimeout.String(), s.Spec.MaxPayload, s.Spec.KeepResults,
	}
}

func newProcessSummaryObject(path string, s *process.Summary) processSummaryObject {
	return processSummaryObject{
		path, s.Name, s.Revision, s.Phase.String(), s.Epoch, s.Members, s.Prepared, s.Coordinator, s.LastResult,
	}
}

// newProcessReplyObject returns a reply to a request. The data of one that failed is the reason.
func newProcessReplyObject(peers []*process.Peer, r *process.Reply) *processReplyObject {
	o := &processReplyObject{ID: r.From, Member: peerName(peers, r.From), Payload: cli.NewPayload(r.Bytes())}
	if failure, ok := errors.AsType[*process.Failure](r.Err); ok {
		o.Failed, o.Payload = true, cli.NewPayload([]byte(failure.Text))
	}
	return o
}
