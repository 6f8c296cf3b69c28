package admin

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// Step is a step of the governor: one that is open, or one that would be begun.
type Step struct {
	ID      uint64 // 0 for one that is not open
	Kind    string // a word, such as "promote"
	Text    string // all of it in words
	Rule    string // the one that wants it; of an open step it is not kept
	Subject string // what no other step may be about meanwhile
	Shard   uint64
	Host    uint64        // 0 for none
	In      time.Duration // after how much waiting it would be begun
	// Of an open step: for how long it has been, how often it has failed, with which error the last time, and for how
	// long it is not tried again.
	Age       time.Duration
	Failures  int
	LastError string
	Wait      time.Duration
}

// Reason is why the governor does not do something.
type Reason struct {
	Code     string // for programs
	Text     string // says all of the rest
	Rule     string
	Subjects []string // such as "shard/3", "host/2"
	// Since is for how long it has been so, Left after how much time it ends by itself; 0 is not known.
	Since, Left time.Duration
}

// Plan is what the governor would do if all went well.
type Plan struct {
	Steps []Step
	// Reasons say why nothing is done after the last step; without any all is as it should be.
	Reasons []Reason
	Cut     bool // there are more steps
}

// Plan returns what the governor would do next, one step after the other until nothing is left to do. Nothing is
// changed.
func (a *Admin) Plan(ctx context.Context) (p *Plan, err error) {
	err = a.read(ctx, OpPlan, cluster.MetaLeader, &protocol.ClusterPlan{}, func(a *protocol.Answer) {
		m := &a.ClusterPlan
		p = &Plan{Steps: stepsOf(&m.Steps), Reasons: reasonsOf(&m.Reasons), Cut: m.Cut}
	})
	return p, err
}

// Why is what the governor does at the moment, and what it waits for.
type Why struct {
	Steps   []Step   // those that are open
	Reasons []Reason // why nothing else is done; without any all is as it should be
}

// Why returns which steps are open, and what the governor waits for.
func (a *Admin) Why(ctx context.Context) (w *Why, err error) {
	err = a.read(ctx, OpWhy, cluster.MetaLeader, &protocol.ClusterWhy{}, func(a *protocol.Answer) {
		w = &Why{Steps: stepsOf(&a.ClusterWhy.Steps), Reasons: reasonsOf(&a.ClusterWhy.Reasons)}
	})
	return w, err
}

func stepsOf(m *protocol.ClusterSteps) (list []Step) {
	for s := range m.All() {
		list = append(list, Step{ID: s.ID, Kind: string(s.Kind), Text: string(s.Text), Rule: string(s.Rule),
			Subject: string(s.Subject), Shard: s.ShardID, Host: s.HostID, In: conn.Millis(s.InMillis),
			Age: conn.Millis(s.AgeMillis), Failures: int(s.Failures), LastError: string(s.LastError),
			Wait: conn.Millis(s.WaitMillis)})
	}
	return list
}

func reasonsOf(m *protocol.GovernorReasons) (list []Reason) {
	for r := range m.All() {
		x := Reason{Code: string(r.Code), Text: string(r.Text), Rule: string(r.Rule),
			Since: conn.Millis(r.AgeMillis), Left: conn.Millis(r.LeftMillis)}
		for s := range r.Subjects.All() {
			x.Subjects = append(x.Subjects, string(s))
		}
		list = append(list, x)
	}
	return list
}

// CancelStep ends an open step. What it has done until then stays. For so long no other step about the same is begun.
func (a *Admin) CancelStep(ctx context.Context, id uint64, hold time.Duration, by By) (changed bool, err error) {
	m := &protocol.StepCancel{Operation: by.operation(), StepID: id, HoldMillis: uint64(hold.Milliseconds())}
	return a.cancel(ctx, number(id), m)
}

// EndDelay has the governor try again at once what has failed. The subject is that of a reason.
func (a *Admin) EndDelay(ctx context.Context, subject string, by By) error {
	m := &protocol.StepCancel{Operation: by.operation(), Subject: protocol.View(subject)}
	_, err := a.cancel(ctx, subject, m)
	return err
}

func (a *Admin) cancel(ctx context.Context, name string, m *protocol.StepCancel) (changed bool, err error) {
	err = a.change(ctx, OpCancel, name, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.StepCancel.Existed
		return a.StepCancel.Since
	})
	return changed, err
}

// Policy is what operators ask of the governor.
type Policy struct {
	// Voters is how many replicas of a shard vote, where there are as many hosts: 1, 3 or 5. 0 chooses by their number.
	Voters int
	// OfflineAfter is how long a host is silent before it counts as failed.
	OfflineAfter time.Duration
	// ReplaceAfter is how long a failed voter keeps its vote while another could have it; 0 is for ever.
	ReplaceAfter time.Duration
	// StableFor is how long a learner must have been up to date before it votes.
	StableFor time.Duration
	// BalanceEvery is how long a leadership rests after it was handed over to spread the load; 0 leaves leaders where
	// they are.
	BalanceEvery time.Duration
	// Copies is how many new replicas may be filled at once.
	Copies int
}

func policyOf(m *protocol.GovernorPolicy) Policy {
	return Policy{Voters: int(m.Voters), OfflineAfter: conn.Millis(m.OfflineAfterMillis),
		ReplaceAfter: conn.Millis(m.ReplaceAfterMillis), StableFor: conn.Millis(m.StableForMillis),
		BalanceEvery: conn.Millis(m.BalanceEveryMillis), Copies: int(m.Copies)}
}

func (p *Policy) message() protocol.GovernorPolicy {
	return protocol.GovernorPolicy{Voters: uint64(p.Voters), OfflineAfterMillis: uint64(p.OfflineAfter.Milliseconds()),
		ReplaceAfterMillis: uint64(p.ReplaceAfter.Milliseconds()), StableForMillis: uint64(p.StableFor.Milliseconds()),
		BalanceEveryMillis: uint64(p.BalanceEvery.Milliseconds()), Copies: uint64(p.Copies)}
}

// SetPolicy changes the policy: change gets the one that is in force, and is called again where another operator
// changes it at the same time. It returns the policy that is in force then.
func (a *Admin) SetPolicy(ctx context.Context, change func(*Policy), by By) (*Policy, error) {
	for {
		c, err := a.Describe(ctx)
		if err != nil {
			return nil, err
		}
		to := c.Policy
		change(&to)
		m := &protocol.Policy{Operation: by.operation(), From: c.Policy.message(), To: to.message()}
		err = a.change(ctx, OpPolicy, "", m, &m.Operation, func(a *protocol.Answer) uint64 { return a.Policy.Since })
		if !errors.Is(err, client.ErrFenced) || ctx.Err() != nil {
			return &to, err
		}
	}
}
