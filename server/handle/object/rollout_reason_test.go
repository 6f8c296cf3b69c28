package object

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// TestTheLongestReasonsLeaveRoomForAPageOfRows: a reason is no longer than the protocol allows, and as many as there
// can be share a frame with rows.
func TestTheLongestReasonsLeaveRoomForAPageOfRows(t *testing.T) {
	word, text := strings.Repeat("w", kind.MaxWord), strings.Repeat("t", kind.MaxText)
	laggards := make([]rollout.Laggard, kind.MaxNamed)
	for i := range laggards {
		laggards[i] = rollout.Laggard{
			Name: text, Generation: 1<<64 - 1, Heard: true, Status: kind.Updating, Code: word,
			Attempts: 1<<64 - 1, For: 1<<64 - 1, Foreign: true,
			Detached: true, DetachedFor: 1<<64 - 1,
		}
	}
	longest := []rollout.Reason{
		{Code: kind.ReasonLeaders, Waiting: 65_536, Of: 65_536, Named: laggards},
		{Code: kind.ReasonGate, Gate: rollout.Gate{Name: word, By: text, Text: text}},
		{Code: kind.ReasonSource, By: text, Text: text},
		{Code: kind.ReasonHalted, By: text, Text: text + text},
	}
	var page rollout.Description
	for range kind.MaxLocations {
		for i := range longest {
			re := longest[i]
			re.Location, re.Seq, re.Since, re.Until = word, 1<<64-1, 1<<64-1, 1<<64-1
			if record := re.View(); len(record.Text) > protocol.MaxReasonBytes {
				t.Errorf("%s has %d bytes", re.Code, len(record.Text))
			}
			page.Reasons = append(page.Reasons, re)
		}
	}
	for id := range uint64(shard.MaxPage) {
		page.Rows = append(page.Rows, shard.Row{ID: id + 1, Body: make([]byte, 2048)})
	}
	a := rolloutPage(&page, shard.PartOptions{})
	if a.Rows.Len() == 0 || a.Next != uint64(a.Rows.Len()) {
		t.Errorf("the page has %d rows, and goes on behind %d", a.Rows.Len(), a.Next)
	}
	if n, most := a.Reasons.Size()+a.Rows.Size(), protocol.PageBytes+8192; n > most {
		t.Errorf("reasons and rows have %d bytes, at most %d fit", n, most)
	}
}
