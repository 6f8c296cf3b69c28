package rollout

import (
	"bytes"
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Instance is what an instance says of itself when it joins.
type Instance struct {
	// Name is unique among the instances of the rollout that have a session.
	Name     string
	Location string
	// Attributes are up to 1 KiB that others can read.
	Attributes []byte
}

// InstanceState is an instance as others see it.
type InstanceState struct {
	Instance
	SessionID uint64
	Leader    bool
	Report    Report
	// Since is from when its status and generation are these.
	Since Moment
	// Sent is the newest generation that it is known to have received, Received when.
	Sent     uint64
	Received Moment
}

// Report is what an instance says of itself.
type Report struct {
	Current    uint64 // the seq of the version in use, 0 for none
	Generation uint64 // of the target that the rest is about
	Status     Status
	Code       string // of the error where it failed
	Text       string
	Attempts   int
}

// Status is how an instance is getting on with its target.
type Status uint8

// The statuses of instances.
const (
	OK       = Status(protocol.InstanceOK)
	Updating = Status(protocol.InstanceUpdating)
	Failed   = Status(protocol.InstanceFailed)
)

// String returns the status in a word.
func (s Status) String() string { return object.InWords(protocol.InstanceStatus(s).String()) }

func reportOf(m *protocol.InstanceReport) Report {
	return Report{
		Current: m.Current, Generation: m.Generation, Status: Status(m.Status), Code: string(m.Code),
		Text: string(m.Text), Attempts: int(m.Attempts),
	}
}

func instanceStateOf(m *protocol.RolloutInstance, location string, now clock) *InstanceState {
	return &InstanceState{
		Instance:  Instance{Name: string(m.Name), Location: location, Attributes: bytes.Clone(m.Attributes)},
		SessionID: m.SessionID, Leader: m.Leader, Report: reportOf(&m.Report), Since: now.Moment(m.Since, 0),
		Sent: m.Sent, Received: now.Moment(m.Received, 0),
	}
}

// Instances returns the instances that have joined in a location, in the order in which they did. Pages are not one
// moment: what comes or goes while they are read may be there or not.
func (r *Rollout) Instances(
	ctx context.Context, location string, options ...ReadOption,
) iter.Seq2[*InstanceState, error] {
	return func(yield func(*InstanceState, error) bool) {
		m := newDescribe("instances/"+location, options)
		for more := true; more; more = m.After != 0 {
			var list []*InstanceState
			_, err := r.page(ctx, m, func(p page) error {
				return object.Records(&p.answer.Rows, func(_ uint64, i *protocol.RolloutInstance) {
					list = append(list, instanceStateOf(i, location, p.now))
				})
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, i := range list {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}
