package overview

import (
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/plan"
)

// Governor is what the host that governs is asked. *executor.Executor implements it.
type Governor interface {
	View() (governor.View, error)
	Plan() (f executor.Forecast, texts []string, err error)
	Steps() ([]executor.Step, error)
	Why() ([]plan.Reason, error)
}

// Plan returns what the governor would do.
func Plan(g Governor) (*protocol.ClusterPlanAnswer, error) {
	v, err := g.View()
	if err != nil {
		return nil, err
	}
	f, texts, err := g.Plan()
	if err != nil {
		return nil, err
	}
	a := &protocol.ClusterPlanAnswer{Cut: f.Cut}
	for i := range f.Steps {
		s := &f.Steps[i]
		x := stepOf(&s.Proposal, texts[i])
		x.ID, x.Rule, x.InMillis = uint64(s.ID), []byte(s.Rule), left(v.Now, s.At)
		a.Steps.Append(x)
		if a.Steps.Size() > protocol.PageBytes/2 {
			a.Cut = true
			break
		}
	}
	addReasons(&a.Reasons, f.Reasons, v.Now)
	return a, nil
}

// Why returns the open steps, and what the governor waits for.
func Why(g Governor) (*protocol.ClusterWhyAnswer, error) {
	v, err := g.View()
	if err != nil {
		return nil, err
	}
	steps, err := g.Steps()
	if err != nil {
		return nil, err
	}
	reasons, err := g.Why()
	if err != nil {
		return nil, err
	}
	a := &protocol.ClusterWhyAnswer{}
	for i := range steps {
		s := &steps[i]
		x := stepOf(&s.Proposal, s.Text)
		x.ID, x.AgeMillis, x.WaitMillis = uint64(s.ID), left(s.Started, v.Now), left(v.Now, s.NotBefore)
		x.Failures, x.LastError = uint64(s.Failures), []byte(s.LastError)
		a.Steps.Append(x)
	}
	addReasons(&a.Reasons, reasons, v.Now)
	return a, nil
}

func stepOf(p *plan.Proposal[governor.Action], text string) protocol.ClusterStep {
	return protocol.ClusterStep{
		Kind: []byte(governor.KindName(p.Kind)), Text: clip(text), Subject: []byte(p.Subject),
		ShardID: uint64(p.Payload.Shard), HostID: uint64(p.Payload.Host),
	}
}

// addReasons adds reasons until half a page is full. Those for open steps are left out: the steps are shown.
func addReasons(to *protocol.GovernorReasons, reasons []plan.Reason, now uint64) {
	for i := range reasons {
		r := &reasons[i]
		if r.Rule == "" {
			continue
		}
		x := protocol.GovernorReason{
			Code: []byte(r.Code), Text: clip(r.Text), Rule: []byte(r.Rule), LeftMillis: left(now, r.Until),
		}
		if r.Since != 0 {
			x.AgeMillis = left(r.Since, now)
		}
		for _, s := range r.Subjects {
			x.Subjects.Append(protocol.Subject(s))
		}
		if to.Append(x); to.Size() > protocol.PageBytes/2 {
			return
		}
	}
}

// clip returns as much of a text as a message takes.
func clip(text string) []byte {
	return []byte(strings.ToValidUTF8(text[:min(len(text), protocol.MaxReasonBytes)], ""))
}
