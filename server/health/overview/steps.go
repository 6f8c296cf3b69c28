package overview

import (
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/plan"
)

// Governor provides the governor's answers. *executor.Executor implements Governor.
type Governor interface {
	View() (governor.View, error)
	Plan() (f executor.Forecast, texts []string, err error)
	Steps() ([]executor.Step, error)
	Why() ([]plan.Reason, error)
}

// Plan returns the governor's next steps.
func Plan(g Governor) (*protocol.ClusterPlanAnswer, error) {
	v, err := g.View()
	if err != nil {
		return nil, err
	}
	f, texts, err := g.Plan()
	if err != nil {
		return nil, err
	}
	a, size := &protocol.ClusterPlanAnswer{Truncated: f.Cut, Reasons: reasonsOf(f.Reasons, v.Now)}, 0
	for i := range f.Steps {
		s := &f.Steps[i]
		x := stepOf(&s.Proposal, texts[i])
		x.ID, x.Rule, x.In = uint64(s.ID), s.Rule, left(v.Now, s.At)
		a.Steps = append(a.Steps, x)
		if size += protocol.Size(&x); size > protocol.PageBytes/2 {
			a.Truncated = true
			break
		}
	}
	return a, nil
}

// Why returns the open steps, and the reasons why the governor waits.
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
	a := &protocol.ClusterWhyAnswer{Reasons: reasonsOf(reasons, v.Now)}
	for i := range steps {
		s := &steps[i]
		x := stepOf(&s.Proposal, s.Text)
		x.ID, x.Age, x.Wait = uint64(s.ID), left(s.Started, v.Now), left(v.Now, s.NotBefore)
		x.Failures, x.LastError = int(s.Failures), s.LastError
		a.Steps = append(a.Steps, x)
	}
	return a, nil
}

// stepOf converts a governor step to its protocol form, with its text truncated to the message size limit.
func stepOf(p *plan.Proposal[governor.Action], text string) host.Step {
	return host.Step{
		Kind: governor.KindName(p.Kind), Text: string(clip(text)), Subject: string(p.Subject),
		Shard: uint64(p.Payload.Shard), Host: uint64(p.Payload.Host),
	}
}

// reasonsOf returns reasons until half a page is full. Reasons from open steps are omitted, because the steps are
// listed.
func reasonsOf(reasons []plan.Reason, now uint64) (list []host.Reason) {
	size := 0
	for i := range reasons {
		r := &reasons[i]
		if r.Rule == "" {
			continue
		}
		x := host.Reason{Code: string(r.Code), Text: string(clip(r.Text)), Rule: r.Rule, Left: left(now, r.Until)}
		if r.Since != 0 {
			x.Since = left(r.Since, now)
		}
		for _, s := range r.Subjects {
			x.Subjects = append(x.Subjects, string(s))
		}
		list = append(list, x)
		if size += protocol.Size(&x); size > protocol.PageBytes/2 {
			break
		}
	}
	return list
}

// clip truncates a text to the message size limit.
func clip(text string) []byte {
	return []byte(strings.ToValidUTF8(text[:min(len(text), protocol.MaxReasonBytes)], ""))
}
