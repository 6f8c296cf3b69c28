package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// manyProcesses is how many processes whose rounds go on are looked into for those that hang.
	manyProcesses = 200
	// hangsAfter is how long members may keep a round waiting, where the process has no reply timeout.
	hangsAfter = time.Minute
)

// checkProcesses finds the rounds that hang: members have not prepared, replied, or handled the completion for long.
func checkProcesses(ctx context.Context, box *client.Client, x *findings) {
	all, looked := 0, 0
	var hanging []string
	list := eachInNodes(ctx, box, nil, func(n *client.Node) iter.Seq2[*process.Summary, error] {
		return process.List(ctx, box, n.Path())
	})
	for s, err := range list {
		switch {
		case errors.Is(err, client.ErrUnsupported), errors.Is(err, client.ErrUnauthorized):
			return // there can be none, or none is for this user
		case err != nil:
			x.add(levelWarn, "processes", "try again", "they cannot be listed: %s", cli.Explain(err))
			return
		}
		all++
		if s.thing.Phase == process.Forming {
			continue
		}
		if looked++; looked <= manyProcesses {
			hanging = append(hanging, hangingRounds(ctx, box, s.path, s.thing.Name)...)
		}
	}
	if all == 0 {
		return
	}
	x.none(levelWarn, "hanging rounds", hanging, fmt.Sprintf("none of %d processes", all),
		"members keep these waiting: %s",
		"signalbox process why says who is waited for, signalbox process kick puts a member out")
}

// hangingRounds says whom the round of a process waits for, and has for long. A process that goes meanwhile waits for
// none.
func hangingRounds(ctx context.Context, box *client.Client, path, name string) (hanging []string) {
	reasons, err := process.Of(box, path, name).Why(ctx)
	if err != nil {
		return nil
	}
	for _, r := range reasons {
		if hangs(&r) {
			o := ages{}.processReason(r)
			hanging = append(hanging, fmt.Sprintf("%s in %s: %s", cli.Safe(name), cli.Safe(path), cli.Safe(o.line())))
		}
	}
	return hanging
}

// hangs reports whether a reason is that members have been waited for, for long. That the coordinator asks for nothing
// is none: a round may stay open.
func hangs(r *process.StopReason) bool {
	switch r.Code {
	case process.ReasonPrepare, process.ReasonReply, process.ReasonComplete:
		return r.Late || r.Since.Happened && r.Since.Ago > hangsAfter
	}
	return false
}
