package hosts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

const (
	// lookEvery is the pause between two questions to the governor. lookWithin is the time after which a missing
	// answer is reported.
	lookEvery, lookWithin = 300 * time.Millisecond, 3 * time.Second
	// movesEvery is how often the number of slots that are still to move is printed.
	movesEvery = 10 * time.Second
	// restFor is how long nothing must be left to do before the wait is over, because a failed host is not detected
	// immediately.
	restFor = 2500 * time.Millisecond
)

// waiting is a wait for the governor. Everything the governor waits for is printed once, on one line.
type waiting struct {
	frame *cli.Frame
	on    *admin.Admin
	said  map[string]bool // what was waited for at the last check
}

// untilDone waits until nothing is open or due, and shows the result. Reasons about hosts that should stay offline do
// not count.
func (w *waiting) untilDone(ctx context.Context, except []string) error {
	stayAway, err := w.subjectsOf(ctx, except)
	if err != nil {
		return err
	}
	for rested := time.Now(); ; {
		why, err := w.look(ctx)
		if err != nil {
			return err
		}
		if why != nil {
			why.Reasons = slices.DeleteFunc(why.Reasons, func(r admin.Reason) bool {
				return r.Rule == admin.RuleLeaders ||
					slices.ContainsFunc(r.Subjects, func(s string) bool { return slices.Contains(stayAway, s) })
			})
			w.say(why)
		}
		switch {
		case why == nil || len(why.Steps)+len(why.Reasons) > 0:
			rested = time.Now()
		case time.Since(rested) >= restFor:
			return showWhy(w.frame, operation.WhyReport{Why: why, HealthIssues: &admin.HealthIssues{}})
		}
		if !cli.SleepFor(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
}

// subjectsOf returns the words that reasons use for hosts.
func (w *waiting) subjectsOf(ctx context.Context, names []string) (subjects []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	cluster, err := w.on.Describe(ctx)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var h *admin.Host
		if h, err = memberOf(cluster, name); err == nil {
			subjects = append(subjects, "host/"+strconv.FormatUint(h.ID, 10))
		}
	}
	return subjects, err
}

// look asks the governor for its reasons to wait. The answer is nil if no governor answers, and look prints that.
func (w *waiting) look(ctx context.Context) (*admin.Why, error) {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	why, err := w.on.Why(within)
	if err == nil || ctx.Err() != nil || within.Err() == nil {
		return why, err
	}
	w.sayAll([]waitedFor{{"governor", "no reachable host governs the cluster: " + err.Error()}})
	return nil, nil
}

// waitedFor is something the governor waits for: a key that identifies it at the next check, and the text.
type waitedFor struct{ key, text string }

// say prints what the governor waits for, except what the last check found already.
func (w *waiting) say(why *admin.Why) {
	var list []waitedFor
	moving := slices.ContainsFunc(why.Reasons, slotsLeft)
	for _, s := range why.Steps {
		if moving && s.Kind == moveSlot {
			continue // one line for all slots
		}
		text := "in progress: " + s.Text
		if s.LastError != "" {
			text += ": " + s.LastError
		}
		list = append(list, waitedFor{fmt.Sprint("step/", s.ID, "/", s.Failures), text + times(s.Age, s.Wait)})
	}
	for _, r := range why.Reasons {
		if r.Code == admin.CodeOccupied || r.Rule == admin.RuleLeaders {
			continue // the blocking step is printed, and leadership is ignored
		}
		key := r.Code + " " + strings.Join(r.Subjects, " ")
		if moving && r.Rule == admin.RuleBalance && (r.Code == admin.CodeDue || r.Left > 0) {
			continue // each slot comes, and each shard rests
		}
		if slotsLeft(r) {
			key += time.Now().Truncate(movesEvery).String() // the number falls
		}
		if r.Code == admin.CodeDue {
			key += r.Text // the next step may be about the same subject
		}
		list = append(list, waitedFor{key, r.Text + times(r.Since, r.Left)})
	}
	w.sayAll(list)
}

// moveSlot is the kind of the steps that move slots.
const moveSlot = "move-slot"

// slotsLeft reports whether a reason has the number of slots that are still to move by the weights of the shards.
func slotsLeft(r admin.Reason) bool { return r.Rule == admin.RuleBalance && r.Code == admin.CodeQueued }

func (w *waiting) sayAll(list []waitedFor) {
	now := make(map[string]bool, len(list))
	for _, x := range list {
		if !w.said[x.key] && !now[x.key] {
			w.frame.Say("%s", x.text)
		}
		now[x.key] = true
	}
	w.said = now
}

// times formats since when something is true, and when it ends or begins without intervention, as far as known.
func times(since, left time.Duration) string {
	var parts []string
	if since >= 100*time.Millisecond {
		parts = append(parts, fmt.Sprintf("for %.1f s", since.Seconds()))
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("next in %.1f s", left.Seconds()))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
