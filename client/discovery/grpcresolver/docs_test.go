package grpcresolver_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/snippets"
)

func TestTheCodeInThePagesCompiles(t *testing.T) {
	all, err := snippets.Read("../../../docs/recipes.md")
	check(t, err)
	var mine []*snippets.Snippet
	for _, s := range all {
		if s.Mode == "module" && s.Arg == "client/discovery/grpcresolver" {
			mine = append(mine, s)
		}
	}
	if len(mine) == 0 {
		t.Error("no page has any")
	}
	check(t, snippets.Compile(".", mine))
}
