package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
)

// TestThePageOfRightsHasAllRequestsAndRoles: the tables in docs/access.md match the tables in code.
func TestThePageOfRightsHasAllRequestsAndRoles(t *testing.T) {
	text := readPage(t, "docs/access.md").text
	requestsOf := func(right protocol.Right) string {
		var names []string
		for k := range protocol.Kind(protocol.MaxRequestKind + 1) {
			if k.IsRequest() && k.IsKnown() && !k.BetweenHosts() && k.Right()&right != 0 {
				names = append(names, k.String())
			}
		}
		return strings.Join(names, ", ")
	}
	for _, name := range append(protocol.RightAll.Names(), "none") {
		right, known := access.ParseRight(name)
		if !known {
			right = protocol.RightOpen
		}
		if row := fmt.Sprintf("| %s | %s |\n", name, requestsOf(right)); !strings.Contains(text, row) {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
	for _, role := range access.AllPredefined() {
		row := fmt.Sprintf("| `%s` | %s |\n", role.Name, strings.Join(role.Rules[0].Rights.Names(), ", "))
		if !strings.Contains(text, row) {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
}
