package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// running is what the admin server shows.
var _ admin.Host = (*running)(nil)

var (
	errStarting = errors.New("the host is starting")
	errStopping = errors.New("the host is stopping")
)

// Checks implements admin.Host.
func (r *running) Checks() []admin.Check {
	switch r.phase.Load() {
	case phaseStarting:
		return []admin.Check{{Name: "running", Err: errStarting}}
	case phaseStopping:
		return []admin.Check{{Name: "running", Err: errStopping}}
	}
	return []admin.Check{
		{Name: "running"},
		{Name: "cluster", Err: r.gate.host.Load().Ready()},
		{Name: "disk", Err: r.disk.Guard(), Advisory: true},
	}
}

// notReady is why the host is not ready, empty where it is.
func (r *running) notReady() string { return admin.NotReady(r.Checks()) }

// WriteMetrics implements admin.Host.
func (r *running) WriteMetrics(w io.Writer) {
	fmt.Fprintf(w, "signalbox_build_info{version=%q} 1\n", programVersion())
	fmt.Fprintf(w, "signalbox_uptime_seconds %g\n", time.Since(r.began).Seconds())
	ready := 0
	if r.notReady() == "" {
		ready = 1
	}
	fmt.Fprintf(w, "signalbox_ready %d\n", ready)
	fmt.Fprintf(w, "signalbox_connections_accepted_total %d\n", r.stats.Accepted.Load())
	fmt.Fprintf(w, "signalbox_connections_refused_total %d\n", r.stats.Refused.Load())
	fmt.Fprintf(w, "signalbox_accept_errors_total %d\n", r.stats.AcceptErrors.Load())
	fmt.Fprintf(w, "signalbox_failed_handshakes_total %d\n", r.stats.FailedHandshakes.Load())
	fmt.Fprintf(w, "signalbox_evicted_handshakes_total %d\n", r.stats.EvictedHandshakes.Load())
	for reason := range raftlog.Refusals {
		fmt.Fprintf(w, "signalbox_raft_refused_total{reason=%q} %d\n", reason.String(), r.raftRefused[reason].Load())
	}
	fmt.Fprintf(w, "signalbox_log_lines_dropped_total %d\n", r.lines.dropped.Load())
	if r.certificates != nil {
		writeCertificate(w, "clients", r.certificates.Expires())
	}
	if r.phase.Load() != phaseStarting {
		if end := r.raft.CertificateExpires(); !end.IsZero() {
			writeCertificate(w, "hosts", end)
		}
		r.gate.host.Load().WriteMetrics(w)
		r.disk.WriteMetrics(w)
	}
	if r.settings.RaftMetrics {
		// The engine writes to the set that this library has for everybody.
		vm.WritePrometheus(w, false)
	}
	vm.ExposeMetadata(true) // of what follows only the library knows the types
	vm.WriteProcessMetrics(w)
	vm.WriteFDMetrics(w)
}

// certificateSeries is when the certificate ends that is shown to clients or to other hosts.
const certificateSeries = "signalbox_certificate_expires_seconds"

func writeCertificate(w io.Writer, use string, end time.Time) {
	fmt.Fprintf(w, "%s{use=%q} %d\n", certificateSeries, use, end.Unix())
}

// Status implements admin.Host.
func (r *running) Status() admin.Status {
	s := r.settings
	status := admin.Status{
		Host: admin.HostStatus{
			ID: uint64(s.HostID()), Name: s.Name, Version: programVersion(),
			UptimeSeconds: time.Since(r.began).Seconds(), Started: r.began.UTC(),
			ClientAddress: s.ClientAdvertise, RaftAddress: s.RaftAdvertise, AdminAddress: s.AdminAdvertise(), DataDir: s.DataDir,
		},
		Connections: admin.Connections{
			Open: r.stats.Open.Load(), Accepted: r.stats.Accepted.Load(),
			Refused: r.stats.Refused.Load(), FailedHandshakes: r.stats.FailedHandshakes.Load(),
		},
	}
	for i, h := range s.Hosts {
		status.Cluster.Hosts = append(status.Cluster.Hosts, admin.HostRecord{ID: uint64(i + 1), Name: h.Name, RaftAddress: h.Raft})
	}
	if r.phase.Load() == phaseStarting {
		return status
	}
	status.Cluster.ID = r.identity.Cluster
	r.showDisk(&status)
	r.showShards(&status)
	return status
}

func (r *running) showDisk(status *admin.Status) {
	if space, low, ok := r.disk.Space(); ok {
		status.Disk = &admin.Disk{
			FreeBytes: space.Free, TotalBytes: space.Total, LowMarkBytes: low, Refusing: r.disk.Guard() != nil,
		}
	}
}

// showShards tells what the log and the host know of each shard, and what the cluster knows of its hosts.
func (r *running) showShards(status *admin.Status) {
	host := r.gate.host.Load().Status()
	status.Fresh, status.Cluster.RoutingVersion = &host.Fresh, host.RoutingVersion
	status.Cluster.FeatureLevel, status.Cluster.LevelHeldBy = int(host.Level.Cluster), host.Level.Holders()
	status.Host.NewestLevel = int(host.Level.Newest)
	for _, known := range host.Hosts {
		for i := range status.Cluster.Hosts {
			if to := &status.Cluster.Hosts[i]; to.ID == uint64(known.ID) {
				to.ClientAddress, to.AdminAddress, to.Version = known.ClientAddress, known.AdminAddress, known.Version
			}
		}
	}
	for _, l := range r.raft.Status() {
		shown := admin.ShardStatus{
			ID: l.ShardID, Leader: uint64(l.Leader), Leads: l.Leader == r.identity.HostID, Term: l.Term,
			Applied: l.AppliedIndex, Lag: l.Lag(),
		}
		for i := range host.Shards {
			if host.Shards[i].ID == l.ShardID {
				shown.ShardContent = contentOf(&host.Shards[i])
			}
		}
		status.Shards = append(status.Shards, shown)
	}
}

func contentOf(s *server.ShardStatus) *admin.ShardContent {
	c := &admin.ShardContent{
		Serving: s.Serving, Sessions: s.Sessions, Attached: s.Attached, Guests: s.Guests,
		Semaphores: s.Semaphores, Waiters: s.Waiters, Watches: s.Watches, Queued: s.Queued, InFlight: s.InFlight,
	}
	if s.ProofAge >= 0 {
		age := s.ProofAge.Seconds()
		c.ProofAgeSeconds = &age
	}
	return c
}
