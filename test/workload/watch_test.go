package workload

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

func TestChangesLeadFromViewToView(t *testing.T) {
	owner := func(order, count uint64) client.Owner {
		return client.Owner{SessionID: 7, OrderID: order, Count: count}
	}
	links := func(list ...client.Owner) (links []history.Link) {
		for _, o := range list {
			links = append(links, linkOf(o))
		}
		return links
	}
	one, two, less := owner(1, 2), owner(2, 1), owner(1, 1)
	for _, c := range []struct {
		name        string
		before, now []history.Link
		changes     client.Changes
		want        string // substring of the result
	}{
		{"the first view is all new", links(two), links(one), client.Changes{First: true, Joined: []client.Owner{one}},
			""},
		{"nothing", links(one), links(one), client.Changes{DataChanged: true}, ""},
		{"one goes and one comes", links(one), links(two),
			client.Changes{Left: []client.Owner{one}, Joined: []client.Owner{two}}, ""},
		{"one has less", links(one, two), links(less, two), client.Changes{Changed: []client.Owner{less}}, ""},
		{"who was not there goes", links(one), links(one), client.Changes{Left: []client.Owner{two}},
			"gone, and was not there"},
		{"who was there comes", links(one), links(one), client.Changes{Joined: []client.Owner{one}},
			"joined, and was there"},
		{"who was not there changes", links(one), links(one, two), client.Changes{Changed: []client.Owner{two}},
			"changed, and was not there"},
		{"a change is missing", links(one), links(less), client.Changes{}, "owns, and by the changes"},
		{"one who came is missing", links(one), links(one, two), client.Changes{}, "owns, and by the changes"},
		{"one who went is missing", links(one, two), links(one), client.Changes{}, "1 own, and by the changes 2"},
	} {
		if got := inconsistency(c.before, c.now, c.changes); (got == "") != (c.want == "") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
