package process_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

func TestBugsInTheSourceAreNoticed(t *testing.T) {
	clienttest.PlantBugs(t, []clienttest.Bug{
		{
			Name: "what comes again is handled again", File: "inbox.go",
			Is: "if m.Seq > p.received && p.ctx.Err() == nil {", Becomes: "if p.ctx.Err() == nil {",
			Noticed: "TestWhatComesAgainIsNotHandledAgain",
		}, {
			Name: "a request is handled after its epoch", File: "handle.go",
			Is:      "\tr, q := it.round, it.request\n\tif r.ctx.Err() != nil {\n\t\treturn\n\t}\n",
			Becomes: "\tr, q := it.round, it.request\n",
			Noticed: "TestARequestIsNotHandledAfterItsEpoch",
		}, {
			Name: "contexts go on after the epoch", File: "inbox.go",
			Is:      "\tif r := p.newest; r != nil && r.epoch <= epoch {\n\t\tr.end(ErrCancelled)\n\t}\n",
			Becomes: "", Noticed: "TestARequestIsNotHandledAfterItsEpoch",
		}, {
			Name: "a round is cancelled while Coordinate runs", File: "handle.go",
			Is:      "\tr.end(ErrCancelled)\n\tp.awaitCoordinate()\n",
			Becomes: "\tr.end(ErrCancelled)\n", Noticed: "TestCoordinateReturnsBeforeCancel",
		}, {
			Name: "functions run at the same time", File: "handle.go",
			Is: "\tp.turn.take()\n\tdefer p.turn.give()\n", Becomes: "", Noticed: "TestOneFunctionAtATime",
		}, {
			Name: "a request is acknowledged before it is handled", File: "ack.go",
			Is:      "\tcase p.handling != nil:\n\t\treturn p.handling.seq - 1\n\tcase len(p.queue) > 0:\n",
			Becomes: "\tcase len(p.queue) > 1<<30:\n", Noticed: "TestWhatIsNotHandledTakesRoom",
		}, {
			Name: "who leaves takes its replies along", File: "handle.go",
			Is: "\tp.posts.all.Wait()\n", Becomes: "", Noticed: "TestLeavingWaitsForAnswersThatOthersWaitFor",
		},
	})
}
