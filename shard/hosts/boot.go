package hosts

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

var errIncarnation = errors.New("an incarnation is needed: 128 bits, not all zero")

// Boot is a host's report when its process starts.
type Boot struct {
	Host        shard.HostID
	Incarnation Incarnation
	Start       Start
	Addresses   Addresses
	Version     string
	Level       level.Level
	// Domain counts only for a host without a domain on record: after that, operators alter the domain.
	Domain Domain
}

// Boot records a host's start and sets its target to Online, even if it was drained. A host with the target Expelled
// keeps its target.
func (r *Records) Boot(at At, b Boot) Answer {
	if err := cmp.Or(b.Addresses.check(), b.Domain.Check(),
		host.CheckWord("the version", b.Version, 0, MaxVersion)); err != nil {
		return badRequest(err)
	}
	if b.Start.Number == 0 || b.Incarnation == (Incarnation{}) {
		return badRequest(cmp.Or(errIncarnation, errors.New("the start number is missing")))
	}
	h := r.Host(b.Host)
	if h != nil && h.Incarnation == (Incarnation{}) {
		if other := r.Incarnated(b.Incarnation); other != nil {
			return forbid("the data directory belongs to host %s, not to %s", other.Name, h.Name)
		}
		adopted := *h
		adopted.Incarnation = b.Incarnation
		h = &adopted
	}
	leaving := r.isLeaving(h, &b)
	if a := identify(h, b.Host, b.Incarnation); a.Status != protocol.StatusSuccess && !leaving {
		return a
	}
	next := *h
	next.Start, next.Addresses, next.Version, next.Level = b.Start, b.Addresses, b.Version, b.Level
	if len(next.Domain) == 0 {
		next.Domain = b.Domain
	}
	switch {
	case b.Start == h.Start && next.Addresses == h.Addresses && next.Version == h.Version && next.Level == h.Level:
		return Answer{Host: h.ID, Existed: true}
	case b.Start.Number <= h.Start.Number:
		return forbid("host %s was started %d times, but the data directory records %d starts and is an older "+
			"copy; start the host with an empty directory and --join ... --replace %s", h.Name,
			h.Start.Number, b.Start.Number, h.Name)
	}
	own := r.Host(b.Host)
	if err := cmp.Or(r.checkVersion(b.Version, own), checkLevel(at, &next),
		r.checkAddresses(&b.Addresses, own)); err != nil {
		return forbid("%v", err)
	}
	if leaving {
		r.put(&next)
		return Answer{Host: h.ID}
	}
	return r.aim(at, &next, protocol.HostOnline, ReasonStarted, fmt.Sprintf("start %d", b.Start.Number))
}

// isLeaving reports whether a host that reports a start has the target Expelled and still has a replica. It returns
// false if the host's addresses now belong to a different host.
func (r *Records) isLeaving(h *Host, b *Boot) bool {
	return h != nil && h.Incarnation == b.Incarnation && !h.Living() && r.Holds(h.ID) &&
		r.checkAddresses(&b.Addresses, h) == nil
}

// identify refuses a host with a wrong incarnation, and an expelled host.
func identify(h *Host, id shard.HostID, i Incarnation) Answer {
	switch {
	case h == nil:
		return refuse(protocol.StatusNotFound, "there is no host %d in this cluster", id)
	case h.Incarnation != i:
		return forbid("host %s has a different data directory; start the host with --join ... --replace %s",
			h.Name, h.Name)
	case !h.Living():
		return forbid("host %s was expelled; use an empty --data-dir to join again", h.Name)
	}
	return Answer{}
}

// Return sets the target to Online for a host that is wrongly considered failed. The required wait grows each time.
func (r *Records) Return(at At, id shard.HostID, i Incarnation, epoch uint64) Answer {
	h := r.Host(id)
	if a := identify(h, id, i); a.Status != protocol.StatusSuccess {
		return a
	}
	switch {
	case h.Wanted() || epoch != h.Target.Epoch:
		return Answer{Host: id, Existed: true}
	case !h.Target.Reason.Failed():
		return forbid("host %s is offline on purpose: %s", h.Name, h.Target.Reason)
	case at.Now < h.ReturnAfter:
		return forbid("host %s has failed %d times in a row and may return in %d ms", h.Name, h.Failures,
			h.ReturnAfter-at.Now)
	}
	return r.aim(at, h, protocol.HostOnline, ReasonReturned, "")
}

// Shutdown records that a host's process is about to stop.
func (r *Records) Shutdown(at At, id shard.HostID, i Incarnation, start Start) Answer {
	h := r.Host(id)
	if a := identify(h, id, i); a.Status != protocol.StatusSuccess {
		return a
	}
	if start.IsCopy(h.Start) || !h.Wanted() && !h.Target.Reason.Failed() {
		return Answer{Host: id, Existed: true}
	}
	return r.aim(at, h, protocol.HostOffline, ReasonShutdown, "")
}

// Rename changes a running host's addresses.
func (r *Records) Rename(at At, id shard.HostID, i Incarnation, start Start, addresses Addresses) Answer {
	if err := addresses.check(); err != nil {
		return badRequest(err)
	}
	h := r.Host(id)
	if a := identify(h, id, i); a.Status != protocol.StatusSuccess {
		return a
	}
	switch {
	case start != h.Start:
		return refuse(protocol.StatusStale, "start %d of host %s is not the latest on record", start.Number, h.Name)
	case h.Addresses == addresses:
		return Answer{Host: id, Existed: true}
	}
	if err := r.checkAddresses(&addresses, h); err != nil {
		return forbid("%v", err)
	}
	next := *h
	next.Addresses = addresses
	return r.alter(at, &next, "at %s for hosts, %s for clients", addresses.Raft, addresses.Client)
}

// checkAddresses checks that no living host, other than except, has the addresses.
func (r *Records) checkAddresses(a *Addresses, except *Host) error {
	for _, h := range r.hosts {
		if h != except && h.Living() && (h.Addresses.Raft == a.Raft || h.Addresses.Client == a.Client) {
			return fmt.Errorf("host %s already uses %s for hosts and %s for clients; choose different addresses",
				h.Name, h.Addresses.Raft, h.Addresses.Client)
		}
	}
	return nil
}

// Failed sets a silent or stuck host's target to Offline, as the governor has decided. term is the governor's term,
// epoch the epoch of the host's target at decision time.
func (r *Records) Failed(at At, term uint64, id shard.HostID, epoch uint64, why Reason, text string) Answer {
	h := r.Host(id)
	switch {
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case h == nil:
		return refuse(protocol.StatusNotFound, "there is no host %d", id)
	case !why.Failed():
		return refuse(protocol.StatusBadRequest, "a host fails by being silent or stuck")
	case !h.Wanted() || h.Target.Epoch != epoch:
		return Answer{Host: id, Existed: true}
	}
	next := *h
	if clock.Over(h.Target.Since, HealthyMillis, at.Now) {
		next.Failures = 0
	}
	next.ReturnAfter = clock.Moment(at.Now) + returnDelay(next.Failures)
	next.Failures++
	return r.aim(at, &next, protocol.HostOffline, why, text)
}

// returnDelay is how long a host must stay offline after the given number of failures.
func returnDelay(failures uint64) uint64 {
	if failures >= 16 {
		return maxReturnMillis
	}
	return min(uint64(returnMillis)<<failures, maxReturnMillis)
}

// Reach makes a host's target its current state, because the governor has brought the host there. term is the
// governor's term; variant and epoch belong to the target the governor has worked towards.
func (r *Records) Reach(at At, term uint64, id shard.HostID, variant protocol.HostState, epoch uint64) Answer {
	h := r.Host(id)
	switch {
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case h == nil:
		return refuse(protocol.StatusNotFound, "there is no host %d", id)
	case h.Target.Variant != variant || h.Target.Epoch != epoch:
		return refuse(protocol.StatusStale, "host %s has the target %s by now", h.Name, h.Target.Variant)
	case h.Reached():
		return Answer{Host: id, Existed: true}
	case variant == protocol.HostExpelled && h.Bare == 0:
		return forbid("host %s has replicas", h.Name)
	}
	next := *h
	next.Current = next.Target
	next.Current.Since, next.Current.Wall = clock.Moment(at.Now), at.Wall
	if variant == protocol.HostExpelled {
		next = Host{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation, Current: next.Current, Target: next.Target,
			Bare: h.Bare}
	}
	r.put(&next)
	r.note(at, EventCurrent, &next, "%s", variant)
	r.forgetExpelled(id)
	return Answer{Host: id}
}

// forgetExpelled discards the expelled hosts with the lowest ids, if there are too many. The latest expelled host
// stays, so a list change never removes the host that was changed last.
func (r *Records) forgetExpelled(latest shard.HostID) {
	over := len(r.hosts) - r.Living() - MaxExpelled
	for i := 0; i < len(r.hosts) && over > 0; {
		if r.hosts[i].Current.Variant != protocol.HostExpelled || r.hosts[i].ID == latest {
			i++
			continue
		}
		r.hosts = append(r.hosts[:i:i], r.hosts[i+1:]...)
		over--
	}
}
