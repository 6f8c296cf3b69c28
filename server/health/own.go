package health

import (
	"errors"
	"fmt"
	"strings"
	"time"

	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Own is the host's own state, as input for AddOwn.
type Own struct {
	Name     string
	NotReady error // nil if the host is ready
	// Refusal is the reason why the host rejects changes, nil if it accepts changes. Free and Total are the free and
	// total bytes on the disk. The host rejects changes while fewer than Low bytes are free. Total is 0 if the disk
	// space is unknown.
	Refusal          error
	Free, Total, Low uint64
	// InMemory is set if the data directory is in memory.
	InMemory bool
	// Live is the memory in use, and High the mark above which changes are rejected. High is 0 if memory use is
	// unknown.
	Live, High uint64
	// CommitP99 is the 99th percentile of commit times for recent batches. Requests is the number of requests the
	// host answered during the measurement.
	CommitP99 time.Duration
	Requests  uint64
	Stalls    uint64 // stalls too long to vouch for clients, since host start
	Refused   uint64 // connections refused or lost, since host start
	Slow      int    // watches that read more slowly than changes arrive
	// Open is the number of open connections; every uses a file descriptor. Files is the process's file descriptor
	// limit, 0 if unknown.
	Open, Files  uint64
	Certificates []Certificate
	Behind       []Behind
}

// Certificate is the expiry time of one of the host's certificates.
type Certificate struct {
	Use string // who sees the certificate: "clients" or "hosts"
	End time.Time
}

// Behind is the number of entries in a shard's log the host has stored but not yet applied.
type Behind struct{ Shard, Entries uint64 }

const (
	// slowCommit is how long a leader may be silent before followers replace it: a disk that takes this long for a
	// batch keeps the leader silent. enoughRequests is the minimum number of requests needed to judge the disk.
	slowCommit     = 300 * time.Millisecond
	enoughRequests = 50
	// fewFiles is the file descriptor limit below which a host cannot serve many clients. manyFiles is the used share
	// above which the limit is an issue.
	fewFiles  = 8192
	manyFiles = 0.8
	// manyEntries is a lag a host does not reach in normal operation.
	manyEntries = 10_000
	// soonOver is how long before its expiry a certificate becomes an issue.
	soonOver = 14 * 24 * time.Hour
)

// whyNot returns why a host is not ready, without the package and verdict around the cause, because the issue kind
// already contains both.
func whyNot(err error) string {
	return strings.TrimSuffix(strings.TrimPrefix(err.Error(), "server: "), ": "+replica.ErrNotReady.Error())
}

// AddOwn adds the issues with the host itself.
func (l *List) AddOwn(o *Own) {
	add := func(k kind.Kind, format string, args ...any) *kind.Issue {
		l.Add(kind.New(k, kind.About{Host: o.Name}, fmt.Sprintf(format, args...)))
		return &l.all[len(l.all)-1]
	}
	if o.NotReady != nil {
		add(kind.HostNotReady, "%s", whyNot(o.NotReady))
	}
	switch {
	case errors.Is(o.Refusal, shard.ErrMemoryFull):
		add(kind.MemoryFull, "%v", o.Refusal)
	case o.High > 0 && o.Live > o.High/8*7:
		add(kind.MemoryLow, "%d MiB memory in use; changes are rejected above %d MiB", o.Live>>20, o.High>>20)
	}
	switch {
	case o.Refusal != nil && !errors.Is(o.Refusal, shard.ErrMemoryFull):
		add(kind.DiskFull, "%v", o.Refusal)
	case o.Total > 0 && o.Free < 2*o.Low:
		add(kind.DiskLow, "%d of %d MiB free; changes are rejected below %d MiB", o.Free>>20, o.Total>>20, o.Low>>20)
	}
	if o.Requests >= enoughRequests && o.CommitP99 > slowCommit {
		add(kind.DiskSlow, "one commit in a hundred takes %v", o.CommitP99)
	}
	if o.InMemory {
		add(kind.DataInMemory, "the data directory is in memory (tmpfs): a reboot of the machine loses it")
	}
	if at, lately := l.grew(kind.HostStalled, o.Stalls); lately {
		add(kind.HostStalled, "stalls beyond the leases since the start: %d", o.Stalls).Since = at
	}
	if at, lately := l.grew(kind.ConnectionsRejected, o.Refused); lately {
		add(kind.ConnectionsRejected, "connections rejected or lost since the start: %d", o.Refused).Since = at
	}
	if o.Slow > 0 {
		add(kind.SlowWatchers, "watches with slow readers: %d", o.Slow)
	}
	if o.Files > 0 && (o.Files < fewFiles || float64(o.Open) > manyFiles*float64(o.Files)) {
		add(kind.FileDescriptorsLow, "%d open connections; the open file limit is %d", o.Open, o.Files)
	}
	for _, c := range o.Certificates {
		k, until := kind.CertificateExpiring, c.End.Sub(l.Now)
		if until > soonOver {
			continue
		}
		if until <= 0 {
			k = kind.CertificateExpired
		}
		one := kind.New(k, kind.About{Host: o.Name}, fmt.Sprintf("the certificate for %s expires at %s", c.Use,
			c.End.UTC().Format(time.DateTime+" UTC")))
		one.Subject += ", certificate for " + c.Use
		l.Add(one)
	}
	for _, b := range o.Behind {
		if b.Entries > manyEntries {
			l.Add(kind.New(kind.HostLagging, kind.About{Host: o.Name, Shards: shards(b.Shard)},
				fmt.Sprintf("%d entries behind in the log of shard %s", b.Entries, shards(b.Shard)[0])))
		}
	}
}
