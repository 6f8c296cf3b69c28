package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
)

// Thresholds of the warnings. Followers replace a leader after 300 ms of silence, and a disk that stands still for that
// long keeps it silent.
const (
	slowSync      = 50 * time.Millisecond // in one of a hundred
	badSync       = 300 * time.Millisecond
	enoughSyncs   = 50 // to judge by
	manyOpenFiles = 0.8
	clockApart    = 2 * time.Second
)

// certificateSeries is when the certificate ends that a host shows to clients or to other hosts.
const certificateSeries = "signalbox_certificate_expires_seconds"

// checkHosts judges what the admin pages of hosts show.
func checkHosts(hosts []pages.Reading, x *findings) {
	var earliest, latest *pages.Reading
	for i := range hosts {
		h := &hosts[i]
		if h.Err != nil {
			x.add(levelWarn, "pages of "+h.Address, "--admin names the pages of a host that can be reached from "+
				"here; without them half of what can be looked at is not", "they cannot be read: %v", h.Err)
			continue
		}
		checkHost(h, x)
		if earliest == nil || clock(h) < clock(earliest) {
			earliest = h
		}
		if latest == nil || clock(h) > clock(latest) {
			latest = h
		}
	}
	if latest != earliest {
		apart := (clock(latest) - clock(earliest)).Round(100 * time.Millisecond)
		l := levelOK
		if apart > clockApart {
			l = levelWarn
		}
		x.add(l, "clocks", "no lease depends on it, but times in logs and the ends of certificates do: let the "+
			"machines keep their clocks by NTP",
			"those of %s and %s are the furthest apart, by %v", earliest.Name(), latest.Name(), apart)
	}
}

// clock is by how much the clock of a host is ahead of this machine's.
func clock(h *pages.Reading) time.Duration {
	s := &h.Status.Host
	return s.Started.Add(time.Duration(s.UptimeSeconds * float64(time.Second))).Sub(h.At)
}

// checkHost judges one host.
func checkHost(h *pages.Reading, x *findings) {
	name, m := h.Name(), h.Metrics
	switch up := time.Duration(h.Status.Host.UptimeSeconds * float64(time.Second)); {
	case h.Status.Ready:
		x.well("host "+name, "it is ready")
	case up < checkPatience:
		x.add(levelWarn, "host "+name, "it has only just been started: look again", "%s", h.Status.NotReady)
	default:
		x.add(levelFail, "host "+name, "its log says more", "%s", h.Status.NotReady)
	}
	checkRoom(h, x)
	checkSync(name, m, x)
	checkQuotas(h, x)
	for _, s := range m[certificateSeries] {
		judgeCertificateEnd("certificate of "+name+" for "+s.Labels["use"], time.Unix(int64(s.Value), 0), h.At, x)
	}
	if limit := m.Sum("process_max_fds"); limit > 0 {
		open := m.Sum("process_open_fds")
		l := levelOK
		if limit < fewFiles || open > manyOpenFiles*limit {
			l = levelWarn
		}
		x.add(l, "open files of "+name, "every client needs one: raise the limit with ulimit -n, or LimitNOFILE= in "+
			"a unit of systemd", "%.0f of %.0f are open", open, limit)
	}
	calm := true
	for _, c := range troubles {
		if n := m.Sum(c.series); n > 0 {
			calm = false
			x.add(levelWarn, c.subject+" of "+name, c.advice, "%.0f %s", n, c.what)
		}
	}
	if calm {
		x.well("calm of "+name, "no pauses, no slow watchers, no connection refused")
	}
}

// troubles are series that should be zero.
var troubles = []struct{ series, subject, what, advice string }{
	{
		"signalbox_shard_stalls_total", "pauses", "times since its start it stood still for so long that it could " +
			"not vouch for its clients",
		"the machine is overloaded or was paused; no client got what others own by that, but sessions ended later " +
			"than they should",
	}, {
		"signalbox_shard_slow_watches", "slow watchers", "watches do not read as fast as things change",
		"they get what happened in larger pieces: look at what those clients do",
	}, {
		"signalbox_connections_refused_total", "refused connections", "connections were refused since its start",
		"there were more clients than --connections, or the limit of open files, allows",
	}, {
		"signalbox_accept_errors_total", "lost connections", "connections could not be accepted since its start",
		"mostly it is the limit of open files",
	},
}

// checkRoom judges the room on the disk of a host.
func checkRoom(h *pages.Reading, x *findings) {
	d := h.Status.Disk
	if d == nil {
		return
	}
	found := fmt.Sprintf("%s of %s are free; changes are refused below %s", byteText(int64(d.FreeBytes)),
		byteText(int64(d.TotalBytes)), byteText(int64(d.LowMarkBytes)))
	l := levelOK
	switch {
	case d.Refusing:
		l = levelFail
	case d.FreeBytes < 2*d.LowMarkBytes:
		l = levelWarn
	}
	x.add(l, "room of "+h.Name(),
		"make room on the disk of "+h.Status.Host.DataDir+"; nothing that the host has put there may be taken away",
		"%s", found)
}

// checkSync judges how long the log of a host waits for its disk.
func checkSync(name string, m pages.Metrics, x *findings) {
	for _, series := range []struct{ name, what string }{
		{"signalbox_log_sync_seconds", "writing to the log"}, {"signalbox_commit_seconds", "committing a batch"},
	} {
		t := m.Times(series.name)
		if t.Count < enoughSyncs {
			continue
		}
		most := time.Duration(t.Below(0.99) * float64(time.Second))
		l := levelOK
		switch {
		case most > badSync:
			l = levelFail
		case most > slowSync:
			l = levelWarn
		}
		x.add(l, "disk of "+name, "a slow disk makes everything slow, and leaders change when it stands still: use a "+
			"local SSD that others do not use as well; signalbox check --disk measures one",
			"%s took %v in the mean and up to %v for 99 of 100, of %.0f",
			series.what, duration(t.Mean()), most, t.Count)
		return
	}
}

// duration shows seconds to people.
func duration(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

func joinKeys(m map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
