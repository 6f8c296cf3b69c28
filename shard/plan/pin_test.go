package plan

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfAPlanAreWhatTheyWere: a plan with steps and back-offs, a proposal, and an act.
func TestBytesOfAPlanAreWhatTheyWere(t *testing.T) {
	cfg := &Config[string]{Append: func(dst []byte, payload string) []byte { return append(dst, payload...) }}
	var (
		plan     = Plan[string]{cfg: cfg}
		proposal Proposal[string]
		act      Act
	)
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "plan", Of: &plan, Write: func() []byte { return plan.Append(nil) },
			Unsaved: []string{"cfg"}},
		codectest.Form{Name: "proposal", Of: &proposal,
			Write: func() []byte { return cfg.AppendProposal(nil, &proposal) }},
		codectest.Form{Name: "act", Of: &act, Write: func() []byte { return act.Append(nil) }})
}
