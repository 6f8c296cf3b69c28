package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol/concern"
)

const (
	// startPatience is for how long a list is read again in which a shard has no leader: right after a start there is
	// none for a moment, and a host that had no requests for a while has to make sure first that it is up to date.
	startPatience = 3 * time.Second
	startPause    = 200 * time.Millisecond
)

// readConcerns asks all hosts what is not well.
func readConcerns(ctx context.Context, box *client.Client) (*admin.Concerns, error) {
	for began := time.Now(); ; {
		list, err := admin.Of(box).Concerns(ctx)
		if err != nil || time.Since(began) > startPatience || !slices.ContainsFunc(list.Items, passes) {
			return list, err
		}
		if !sleepFor(ctx, startPause) {
			return list, nil
		}
	}
}

// passes reports whether a concern may be gone a moment after a start.
func passes(c admin.Concern) bool { return c.Kind == concern.NoLeader }

var concernTitles = []string{"HOW BAD", "WHAT", "SINCE", "WAITS FOR", "WHAT IS SO", "WHAT TO DO"}

// concernCells are concerns as a table has these.
func concernCells(list []admin.Concern) (rows [][]any) {
	for i := range list {
		c := &list[i]
		rows = append(rows, []any{c.Severity, c.Subject, agoCell(c.Since), c.WaitsFor, textOf(c), c.Do})
	}
	return rows
}

// textOf says what is so, and of how many more.
func textOf(c *admin.Concern) string {
	if c.More == 0 {
		return c.Text
	}
	return c.Text + "; so it is with " + strconv.Itoa(c.More) + " more"
}

// agoCell is for how long something has been so, empty where that is not known.
func agoCell(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return max(time.Since(since), 0).Round(time.Second).String()
}

// unansweredCells are the hosts that have not said what is not well, as a table has these.
func unansweredCells(list []admin.Unanswered) (rows [][]any) {
	for _, u := range list {
		rows = append(rows, []any{u.Host, u.Address, u.Reason})
	}
	return rows
}

var unansweredTitles = []string{"HOST", "ADDRESS", "REASON"}

// unansweredHosts are hosts as a sentence has these.
type unansweredHosts []admin.Unanswered

// String names the hosts, with why each has said nothing.
func (u unansweredHosts) String() string {
	var texts []string
	for _, one := range u {
		texts = append(texts, strings.TrimSpace(one.Host+" "+one.Address)+" ("+one.Reason+")")
	}
	return strings.Join(texts, "; ")
}
