package raftlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Membership implements shard.Members. It takes at most Config.BarrierTimeout, and fails with shard.ErrNoQuorum if no
// majority answers.
func (l *Log) Membership(ctx context.Context) (shard.Membership, error) {
	m, _, err := l.membership(ctx)
	return m, err
}

// membership also returns the removed replicas.
func (l *Log) membership(ctx context.Context) (m shard.Membership, removed map[uint64]struct{}, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.host.config.BarrierTimeout)
	defer cancel()
	leave, err := l.reads.enter(ctx)
	if err != nil {
		return m, nil, fmt.Errorf("raftlog: shard %d: read the membership: %w", l.shardID, readError(err))
	}
	defer leave()
	return l.readMembership(ctx)
}

// readMembership implements membership for a caller that has entered the read gate.
func (l *Log) readMembership(ctx context.Context) (m shard.Membership, removed map[uint64]struct{}, err error) {
	if l.isClosed() {
		return m, nil, shard.ErrLogClosed
	}
	ctx, cancel := context.WithTimeout(ctx, l.host.config.BarrierTimeout)
	defer cancel()
	read, err := l.host.engine.SyncGetShardMembership(ctx, l.shardID)
	if err != nil {
		return m, nil, fmt.Errorf("raftlog: shard %d: read the membership: %w", l.shardID, readError(err))
	}
	m.Change = read.ConfigChangeID
	for voter, members := range map[bool]map[uint64]string{true: read.Nodes, false: read.NonVotings} {
		targets, err := parseTargets(members)
		if err != nil {
			return m, nil, fmt.Errorf("raftlog: shard %d: read the membership: %w", l.shardID, err)
		}
		for replica, target := range targets {
			m.Members = append(m.Members, shard.Member{
				Replica: replica, Host: target.Host, Incarnation: target.Incarnation, Voter: voter,
			})
		}
	}
	slices.SortFunc(m.Members, func(a, b shard.Member) int { return cmp.Compare(a.Replica, b.Replica) })
	l.updateView(func(v *view) *view { return v.withMembership(&m, read.Removed) })
	return m, read.Removed, nil
}

// readError translates an error from a read that needs a majority.
func readError(err error) error {
	if err := logError(err); errors.Is(err, shard.ErrLogBusy) || errors.Is(err, shard.ErrLogClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", shard.ErrNoQuorum, err)
}

// memberChange is a change of a shard's members.
type memberChange struct {
	name    string // the operation, for errors
	removes uint64 // the removed replica; 0 for none
	// allowed returns why the rules forbid the change, nil if they allow it.
	allowed func(m *shard.Membership, removed map[uint64]struct{}) error
	// request asks the engine for the change. The engine makes the change only if the latest change still has the given
	// number when the request is applied: until then a later leader may make another change.
	request func(number uint64, timeout time.Duration) (*dragonboat.RequestState, error)
}

var _ shard.Members = (*Log)(nil)

// AddLearner implements shard.Members. The host then starts the replica with Host.Join.
func (l *Log) AddLearner(ctx context.Context, replica uint64, to shard.HostID, incarnation shard.Incarnation,
	change uint64) error {
	return l.change(ctx, change, l.addition(replica, transport.Target{Host: to, Incarnation: incarnation}))
}

// addition is the change that adds a learner.
func (l *Log) addition(replica uint64, target transport.Target) memberChange {
	return memberChange{
		name: fmt.Sprintf("add learner %d on %v", replica, target),
		allowed: func(m *shard.Membership, removed map[uint64]struct{}) error {
			if _, burnt := removed[replica]; burnt || replica < transport.FirstJoined {
				return fmt.Errorf("the id %d is not given a second time", replica)
			}
			for i := range m.Members {
				p := &m.Members[i]
				if p.Replica == replica || p.Host == target.Host && p.Incarnation == target.Incarnation {
					return fmt.Errorf("replica %d is on %v", p.Replica, p.Host)
				}
			}
			return nil
		},
		request: func(number uint64, timeout time.Duration) (*dragonboat.RequestState, error) {
			return l.host.engine.RequestAddNonVoting(l.shardID, replica, target.String(), number, timeout)
		},
	}
}

// Promote implements shard.Members.
func (l *Log) Promote(ctx context.Context, replica, change uint64) error {
	return l.change(ctx, change, l.promotion(replica))
}

// promotion is the change that makes a learner a voter.
func (l *Log) promotion(replica uint64) memberChange {
	var target transport.Target
	return memberChange{
		name: fmt.Sprint("promote ", replica),
		allowed: func(m *shard.Membership, _ map[uint64]struct{}) error {
			p := m.Member(replica)
			if p == nil || p.Voter {
				return errors.New("it is no learner")
			}
			target = transport.Target{Host: p.Host, Incarnation: p.Incarnation}
			return nil
		},
		request: func(number uint64, timeout time.Duration) (*dragonboat.RequestState, error) {
			return l.host.engine.RequestAddReplica(l.shardID, replica, target.String(), number, timeout)
		},
	}
}

// Remove implements shard.Members.
func (l *Log) Remove(ctx context.Context, replica, change uint64) error {
	c := l.removal(replica)
	if err := l.change(ctx, change, c); err != nil {
		return err
	}
	return l.outlast(ctx, change, c)
}

// removal is the change that removes a member.
func (l *Log) removal(replica uint64) memberChange {
	return memberChange{
		name:    fmt.Sprint("remove ", replica),
		removes: replica,
		allowed: func(m *shard.Membership, _ map[uint64]struct{}) error {
			p := m.Member(replica)
			switch {
			case p == nil:
				return errors.New("it is no member")
			case replica == l.replica.Replica:
				return errors.New("it leads")
			case p.Voter && voters(m) == 1:
				return errors.New("it is the only voter")
			}
			return nil
		},
		request: func(number uint64, timeout time.Duration) (*dragonboat.RequestState, error) {
			return l.host.engine.RequestDeleteReplica(l.shardID, replica, number, timeout)
		},
	}
}

// outlast repeats a completed removal. The repetition changes nothing, but once it is committed, a majority of the
// remaining members has on disk that the removal itself was committed. Otherwise the remaining members might need the
// removed replica after a restart: the remaining voter of two could not be elected without the other.
func (l *Log) outlast(ctx context.Context, number uint64, c memberChange) error {
	ctx, cancel := context.WithTimeout(ctx, l.host.config.ProposalTimeout)
	defer cancel()
	again, err := c.request(number, l.host.config.ProposalTimeout)
	if err == nil {
		err = l.awaitChange(ctx, again)
	}
	if errors.Is(err, shard.ErrOtherMembership) {
		return nil
	}
	return fmt.Errorf("raftlog: shard %d: %w: it is not on the disks of a majority yet", l.shardID,
		errors.Join(shard.ErrMembershipUnknown, err))
}

// voters returns how many members vote.
func voters(m *shard.Membership) (n int) {
	for _, member := range m.Members {
		if member.Voter {
			n++
		}
	}
	return n
}

// change changes the members, if the membership has the given number.
//
// If the change leaves one voter, no read may wait for the other voter's confirmation when the change is applied: the
// read would never be confirmed, and while a read waits the engine sends no heartbeats to learners. So the read gate is
// held meanwhile, and the membership read behind the gate confirms all reads in the engine.
func (l *Log) change(ctx context.Context, number uint64, c memberChange) error {
	fail := func(err error) error { return fmt.Errorf("raftlog: shard %d: %s: %w", l.shardID, c.name, err) }
	if !l.changing.TryLock() {
		return fail(shard.ErrLogBusy)
	}
	defer l.changing.Unlock()
	if _, leads := l.leads(); !leads {
		return fail(shard.ErrNotLeader)
	}
	m, removed, err := l.membership(ctx)
	if p := m.Member(c.removes); err == nil && p != nil && p.Voter && voters(&m) == 2 {
		release, err := l.holdReads(ctx)
		if err != nil {
			return fail(err)
		}
		defer release()
		m, removed, err = l.readMembership(ctx)
		if err != nil {
			return fail(err)
		}
	}
	if err != nil {
		return fail(err)
	}
	if m.Change != number {
		return fail(fmt.Errorf("%w: it is %d, not %d", shard.ErrOtherMembership, m.Change, number))
	}
	if err := c.allowed(&m, removed); err != nil {
		return fail(fmt.Errorf("%w: %w", shard.ErrMembershipRule, err))
	}
	timeout := l.host.config.ProposalTimeout
	request, err := c.request(number, timeout)
	if err != nil { // the engine did not accept the request
		return fail(fmt.Errorf("%w: %w", shard.ErrLogBusy, err))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := l.awaitChange(ctx, request); err != nil {
		return fail(err)
	}
	return nil
}

// awaitChange waits for the result of a member change. An abandoned request remains with the engine.
func (l *Log) awaitChange(ctx context.Context, request *dragonboat.RequestState) error {
	select {
	case result := <-request.AppliedC():
		switch {
		case result.Completed():
			return nil
		case result.Rejected():
			return shard.ErrOtherMembership // allowed when it was proposed
		case result.Dropped():
			return shard.ErrLogBusy
		}
		return shard.ErrMembershipUnknown
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", shard.ErrMembershipUnknown, ctx.Err())
	case <-l.stop:
		return fmt.Errorf("%w: %w", shard.ErrMembershipUnknown, shard.ErrLogClosed)
	}
}
