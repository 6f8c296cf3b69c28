package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	kind "github.com/signalbox/signalbox/protocol/health"
	processkind "github.com/signalbox/signalbox/protocol/process"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
	"github.com/signalbox/signalbox/shard/semaphore"
)

const (
	// maxLooked is the maximum number of objects per type that one list examines in a shard, so that a large shard
	// does not slow every list. The next list continues the walk; objects not yet examined keep their issues from the
	// previous walk.
	maxLooked = 5000
	// hangs is how long a round may wait for members or the coordinator before the round is an issue. A round that
	// has exceeded a shorter reply timeout is an issue earlier.
	hangs = time.Minute
)

// Nodes returns the meta shard's information about a node: its path, and how long a session may wait for one of its
// semaphores. If the node was dropped, ok is false.
type Nodes func(shard.NodeID) (path string, threshold Threshold, ok bool)

// Threshold is how long a session may wait for a semaphore in a node.
type Threshold struct {
	Longest time.Duration // 0 for no limit
	Default bool          // no operator has set the threshold: a longer wait is information, not a fault
}

// sweep is the progress of the walks through a shard's objects, one walk per object type.
type sweep struct{ rollouts, processes, queues walk }

// walk visits all objects of one type, some per list, and then starts again.
type walk struct {
	at            shard.Cursor
	found, before []kind.Issue // found by this walk so far, and by the previous complete walk
}

// turn continues the walk by about maxLooked objects or to its end, and adds the issues found by this walk and the
// previous one. Newer issues are added first, because Add ignores a second issue with the same key.
func (w *walk) turn(l *List, step func(at shard.Cursor) (next shard.Cursor, looked int, over bool)) {
	for looked, over := 0, false; looked < maxLooked && !over; {
		var n int
		w.at, n, over = step(w.at)
		if looked += max(n, 1); over {
			w.at, w.before, w.found = 0, w.found, nil
		}
	}
	for _, c := range slices.Concat(w.found, w.before) {
		l.Add(c)
	}
}

// AddObjects adds the issues with objects in a shard the host leads. who names a session's client. For a shard the
// host does not lead, the caller uses Forget instead.
func (l *List) AddObjects(r *replica.Replica, nodes Nodes, who func(shard.SessionID) string) {
	s := l.book.sweeps[r.ID]
	if s == nil {
		s = new(sweep)
		l.book.sweeps[r.ID] = s
	}
	o := objects{l, r.Machine, nodes, who}
	now := r.EstimatedTime()
	l.addWait(r.ID, r.WaitsFor)
	s.rollouts.turn(l, func(at shard.Cursor) (next shard.Cursor, looked int, over bool) {
		var still []rollout.Status
		next, over = rollout.Walk(r.Machine, at, now, func(v *rollout.Status) {
			if looked++; len(v.Still) > 0 {
				still = append(still, *v)
			}
		})
		for i := range still {
			s.rollouts.found = o.rollout(&still[i], s.rollouts.found)
		}
		return next, looked, over
	})
	s.processes.turn(l, func(at shard.Cursor) (next shard.Cursor, looked int, over bool) {
		var still []process.Status
		next, over = process.Walk(r.Machine, at, now, func(v *process.Status) {
			if looked++; len(v.Reasons) > 0 && v.Members > 0 {
				still = append(still, *v)
			}
		})
		for i := range still {
			s.processes.found = o.round(&still[i], s.processes.found)
		}
		return next, looked, over
	})
	s.queues.turn(l, func(at shard.Cursor) (next shard.Cursor, looked int, over bool) {
		var queues []semaphore.Queue
		next, over = semaphore.WalkQueues(r.Machine, at, func(q semaphore.Queue) { queues = append(queues, q) })
		for i := range queues {
			s.queues.found = o.queue(&queues[i], s.queues.found)
		}
		return next, shard.MaxPage, over
	})
}

// addWait adds an issue while a rebuilt shard grants nothing yet.
func (l *List) addWait(id uint64, waits func() (why string, left time.Duration)) {
	if why, left := waits(); left > 0 {
		l.Add(kind.New(kind.ShardRebuilding, kind.About{Shards: shards(id)},
			fmt.Sprintf("rebuilt after a quorum loss: grants nothing for at least %v more, due to %s",
				left.Round(time.Second), why)))
	}
}

// Forget drops the walks through a shard the host does not lead. If the host later leads the shard again, no old
// issue reappears.
func (l *List) Forget(r *replica.Replica) { delete(l.book.sweeps, r.ID) }

// objects creates the issues with objects in a shard.
type objects struct {
	list    *List
	machine *machine.Machine
	nodes   Nodes
	who     func(shard.SessionID) string
}

// issue returns an issue with an object in a node. The issue began ago milliseconds before the list, at an unknown
// time if ago is 0. If the node was dropped, ok is false.
func (o *objects) issue(k kind.Kind, node shard.NodeID, name string, ago uint64, text, waitsFor string) (
	c kind.Issue, ok bool) {
	path, _, ok := o.nodes(node)
	c = kind.New(k, kind.About{Node: path, Name: name}, text)
	c.WaitsFor = waitsFor
	if ago != 0 {
		c.Since = o.list.Now.Add(-time.Duration(ago) * time.Millisecond)
	}
	return c, ok
}

// rollout appends a rollout's issues. A halted or paused rollout only gets an issue for the halt or pause, because
// the rollout continues only after an operator resumes it.
func (o *objects) rollout(v *rollout.Status, to []kind.Issue) []kind.Issue {
	var texts, waits [4][]string
	var since, wall [4]uint64
	kinds := [4]kind.Kind{kind.RolloutHalted, kind.RolloutPaused, kind.RolloutBlocked, kind.RolloutDeadlineExceeded}
	for i := range v.Still {
		re, at := &v.Still[i], 2
		switch re.Code {
		case rolloutkind.ReasonHalted:
			at = 0
		case rolloutkind.ReasonPaused:
			at = 1
		case rolloutkind.ReasonStuck:
			at = 3
		case rolloutkind.ReasonGate:
			if re.Gate.Since != 0 && re.Gate.Verdict == rolloutkind.GatePending {
				continue // a checker is working
			}
		}
		texts[at] = append(texts[at], re.String())
		waits[at] = append(waits[at], awaited(re))
		if re.Since != 0 && (since[at] == 0 || re.Since < since[at]) {
			since[at], wall[at] = re.Since, re.Wall
		}
	}
	for at, k := range kinds {
		if len(texts[at]) == 0 {
			continue
		}
		ago := uint64(0)
		if since[at] != 0 {
			ago = v.Now - min(v.Now, since[at])
		}
		if k == kind.RolloutDeadlineExceeded {
			waits[at] = o.laggards(v)
		}
		if c, ok := o.issue(k, v.Node, v.Name, ago, strings.Join(texts[at], "; "), joined(waits[at])); ok {
			if wall[at] != 0 {
				c.Since = time.UnixMilli(int64(wall[at]))
			}
			if k == kind.RolloutBlocked {
				c.Do = unblock(&c, v.Still)
			}
			to = append(to, c)
		}
		if at < 2 {
			break
		}
	}
	return to
}

// unblock returns the remedies for the reasons why a rollout is blocked.
func unblock(c *kind.Issue, all []rollout.Reason) string {
	var remedies []string
	command := func(name, flags, effect string) string {
		return fmt.Sprintf("signalbox rollout %s %s %s%s %s", name, c.Node, c.Name, flags, effect)
	}
	for i := range all {
		re := &all[i]
		at := " --location " + re.Location
		bypass := command("bypass", at, "bypasses the location")
		switch re.Code {
		case rolloutkind.ReasonNoInstances:
			remedies = append(remedies, "start an instance in "+re.Location, bypass)
		case rolloutkind.ReasonNoLeaders, rolloutkind.ReasonFewLeaders:
			remedies = append(remedies, "start leaders in "+re.Location, bypass)
		case rolloutkind.ReasonGate:
			remedies = append(remedies, command("gate", fmt.Sprintf("%s --gate %s --pass %d", at, re.Gate.Name, re.Seq),
				"answers the gate"))
		case rolloutkind.ReasonNoAlternative:
			remedies = append(remedies, command("publish", "", "adds another version"))
		case rolloutkind.ReasonNoSource:
			remedies = append(remedies, command("source", "", "provides versions"))
		}
	}
	slices.Sort(remedies)
	remedies = slices.Compact(remedies)
	if more := len(remedies) - maxRemedies; more > 0 {
		remedies = append(remedies[:maxRemedies], command("why", "", "shows the other reasons"))
	}
	return strings.Join(remedies, "; ")
}

// maxRemedies bounds how many remedies an issue lists.
const maxRemedies = 4

// awaited names the person or program a rollout waits for.
func awaited(re *rollout.Reason) string {
	switch re.Code {
	case rolloutkind.ReasonHalted, rolloutkind.ReasonPaused:
		return "an operator"
	case rolloutkind.ReasonNoInstances:
		return "an instance in " + re.Location
	case rolloutkind.ReasonNoLeaders, rolloutkind.ReasonFewLeaders:
		return "leaders in " + re.Location
	case rolloutkind.ReasonGate:
		return fmt.Sprintf("a verdict at the gate %s in %s", re.Gate.Name, re.Location)
	case rolloutkind.ReasonNoAlternative:
		return "another version for " + re.Location
	case rolloutkind.ReasonNoSource:
		return "a source"
	}
	return re.Location
}

// laggards names the instances that delay a late rollout.
func (o *objects) laggards(v *rollout.Status) (names []string) {
	var d rollout.Description
	rollout.Describe(o.machine, v.Node, v.Name, shard.PartOptions{Part: "actions", Limit: 1, Why: true, Now: v.Now}, &d)
	for i := range d.Reasons {
		for _, la := range d.Reasons[i].Named {
			names = append(names, la.Name)
		}
	}
	return names
}

// round appends the issues with a process's round, at most one per kind.
func (o *objects) round(v *process.Status, to []kind.Issue) []kind.Issue {
	found := make(map[kind.Kind]bool)
	for i := range v.Reasons {
		re := &v.Reasons[i]
		waited := v.Now - min(v.Now, re.Since)
		k := kind.ProcessMemberOverdue
		switch re.Code {
		case processkind.ReasonOpening:
			continue
		case processkind.ReasonCoordinator:
			k = kind.ProcessCoordinatorStalled
		default:
			if re.Blocked {
				k = kind.ProcessBlocked
			}
		}
		if found[k] || !re.Late && waited < uint64(hangs.Milliseconds()) {
			continue
		}
		found[k] = true
		var names []string
		for _, m := range re.Members {
			names = append(names, m.Name)
		}
		switch k {
		case kind.ProcessCoordinatorStalled:
			names = []string{re.From.Name}
		case kind.ProcessBlocked:
			names = []string{"members"}
		}
		if c, ok := o.issue(k, v.Node, v.Name, waited, re.What(), joined(names)); ok {
			to = append(to, c)
		}
	}
	return to
}

// queue appends an issue if a session has waited for a semaphore longer than the node allows.
func (o *objects) queue(q *semaphore.Queue, to []kind.Issue) []kind.Issue {
	_, threshold, ok := o.nodes(q.Node)
	since := time.UnixMilli(int64(q.Since))
	if !ok || threshold.Longest == 0 || q.Since == 0 || o.list.Now.Sub(since) <= threshold.Longest {
		return to
	}
	owner := "room"
	if q.Owner != 0 {
		owner = o.who(q.Owner)
	}
	c, _ := o.issue(kind.LongWait, q.Node, q.Name, 0, fmt.Sprintf("waiters: %d; the longest wait is %s", q.Waiters,
		o.who(q.First)), owner)
	if c.Since = since; threshold.Default {
		c.Severity = kind.Info
	}
	return append(to, c)
}

// maxNamed is the maximum number of names in an issue text.
const maxNamed = 8

// joined lists the first maxNamed names, and counts the remaining names.
func joined(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}

// shards formats shard ids for About.Shards.
func shards(ids ...uint64) (texts []string) {
	for _, id := range ids {
		texts = append(texts, strconv.FormatUint(id, 10))
	}
	return texts
}

const (
	// nearQuota is the used share above which a quota is an issue.
	nearQuota = 0.8
	// maxNodes is the maximum number of a shard's fullest nodes a list shows.
	maxNodes = 20
)

// AddQuotas adds the almost exhausted quotas of a shard the host leads, and of the shard's fullest nodes. AddQuotas
// also adds an issue if the quotas in the local host's settings (given) differ from the quotas in effect: a shard
// uses its leader's settings, so the quotas would change with the leader.
func (l *List) AddQuotas(host string, r *replica.Replica, given shard.Limits, nodes Nodes) {
	u := r.Machine.Usage(0)
	near := func(about kind.About, u shard.Usage) {
		for _, q := range []struct {
			used, limit uint64
			what        string
		}{{u.Objects, u.ObjectLimit, "objects"}, {u.Bytes, u.ByteLimit, "bytes"}} {
			if q.limit > 0 && float64(q.used) > nearQuota*float64(q.limit) {
				c := kind.New(kind.QuotaNearlyUsed, about, fmt.Sprintf("%.0f %% used: %d of %d %s",
					100*float64(q.used)/float64(q.limit), q.used, q.limit, q.what))
				if c.Subject = "the " + q.what + " of " + c.Subject; about.Node != "" {
					c.Subject += ", of node " + about.Node
				}
				l.Add(c)
			}
		}
	}
	if r.Leads() {
		near(kind.About{Shards: shards(r.ID)}, u)
		for _, n := range r.Machine.FullestNodes(nearQuota, maxNodes, nil) {
			if path, _, ok := nodes(n.Node); ok {
				near(kind.About{Node: path, Shards: shards(r.ID)}, n.Usage)
			}
		}
	}
	if u.ObjectLimit != 0 && (u.ObjectLimit != given.Objects || u.ByteLimit > given.Bytes) {
		l.Add(kind.New(kind.QuotaSettingsDiffer, kind.About{Host: host, Shards: shards(r.ID)}, fmt.Sprintf(
			"the host sets %d objects and %d bytes, but shard %d has %d and %d in "+
				"force", given.Objects, given.Bytes, r.ID,
			u.ObjectLimit, u.ByteLimit)))
	}
}
