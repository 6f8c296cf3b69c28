package assign_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

func TestBugsInTheSourceAreNoticed(t *testing.T) {
	clienttest.PlantBugs(t, []clienttest.Bug{
		{
			Name: "a part is started while its owner has it", File: "plan.go",
			Is: "\tcase holder == nil:\n", Becomes: "\tcase holder == nil || holder.id != to:\n",
			Noticed: "TestAPartIsStartedWhenItsOldOwnerHasStoppedIt",
		}, {
			Name: "a part is stopped before its function has returned", File: "order.go",
			Is: "if await(r.Context(), stopped) == nil {", Becomes: "if len(stopped) >= 0 {",
			Noticed: "TestAPartIsStartedWhenItsOldOwnerHasStoppedIt",
		}, {
			Name: "work goes on without the membership", File: "work.go",
			Is:      "context.WithValue(by.Context(), membershipKey{}, by)",
			Becomes: "context.WithValue(context.Background(), membershipKey{}, by)",
			Noticed: "TestOneThatIsCutOffStopsBeforeOthersStart",
		}, {
			Name: "one leaves while its functions run", File: "member.go",
			Is: "\terr := await(ctx, stopped)\n", Becomes: "\terr := ctx.Err()\n",
			Noticed: "TestLeavingDoesNotWaitForOthers",
		}, {
			Name: "the function is called twice at a time", File: "work.go",
			Is: "\tif j.before != nil {\n\t\t<-j.before\n\t}\n", Becomes: "", Noticed: "TestWorkOnAPart",
		},
	})
}
