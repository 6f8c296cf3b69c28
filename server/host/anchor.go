package host

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// anchorEvery is the interval at which a host with a growing log records its own log progress and that of remote
// hosts. A host without new log entries writes nothing, and is not woken.
const anchorEvery = 2 * time.Second

// logSynced is called with the duration of every log sync.
func (h *Host) logSynced(took time.Duration) {
	h.logSyncs.Observe(int64(took))
	select {
	case h.logGrew <- struct{}{}:
	default:
	}
}

// keepAnchored rewrites the directory's anchor repeatedly while the log grows.
func (h *Host) keepAnchored() {
	failed := false
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.logGrew:
		}
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(anchorEvery):
		}
		err := h.noteProgress(false)
		if err != nil && !failed {
			h.log.Warn("cannot record the log position: an older copy of the directory may not be "+
				"detected", "error", err)
		}
		failed = err != nil
	}
}

// noteProgress records the local host's log progress, the known progress of remote hosts, and the data's feature
// level.
func (h *Host) noteProgress(stopped bool) error {
	confirmed := make(map[hosts.Incarnation][]rafttransport.Position)
	for _, c := range h.raft.Confirmed() {
		if member := h.member(c.Host); member != nil && !member.Expelled {
			confirmed[member.Incarnation] = append(confirmed[member.Incarnation], c.Position)
		}
	}
	err := errors.Join(h.seen.Confirm(confirmed), h.directory.Anchor(h.raft.LogEnd(), stopped))
	if core := h.core.Load(); core != nil {
		err = errors.Join(err, h.directory.NoteLevel(core.DataLevel()))
	}
	return err
}

// confirmed returns the other hosts' confirmed progress as recorded by the last noteProgress.
func (h *Host) confirmed() (list []raftlog.Confirmed) {
	for _, k := range *h.known.Load() {
		for _, p := range h.seen.Confirmed(k.Incarnation) {
			list = append(list, raftlog.Confirmed{Host: k.ID, Position: p})
		}
	}
	return list
}

// logDamaged is called if the running log detects that the directory was changed from outside.
func (h *Host) logDamaged(err error) {
	if errors.Is(err, raftlog.ErrSetBack) {
		err = fmt.Errorf("%w. %s", err, replaceAdvice("HOST:PORT", h.identity.HostName))
	}
	h.halt(err)
}

// runsElsewhere refuses a later start with a directory while the process from an earlier start still answers: two
// directories with the same history are running, and the later start used a copy. A killed process does not answer;
// only the later start's process can answer at its address.
func (h *Host) runsElsewhere(member *identity.Known, start hosts.Start) *rafttransport.Refused {
	newest := h.seen.Newest(member.Incarnation)
	peers := h.peers.Load()
	if peers == nil || newest.Number == 0 || start == newest || start.IsCopy(newest) {
		return nil
	}
	found, err := peers.IdentityAt(h.ctx, member.Raft)
	if err != nil || found.Incarnation != member.Incarnation || found.Start.Number >= start.Number {
		return nil
	}
	return &rafttransport.Refused{Code: rafttransport.CodeOlderCopy, Text: fmt.Sprintf("host %s already runs at "+
		"%s, with start number %d; this process has start number %d, on a copy of the directory. Two hosts must "+
		"never use one directory: stop this process and delete the copy. If the directory was moved here, stop "+
		"the other host, and start this host again. To add a host, use an empty --data-dir: signalbox serve "+
		"--join %s --name NAME",
		member.Name, member.Raft, found.Start.Number, start.Number, h.settings.RaftAdvertise)}
}
