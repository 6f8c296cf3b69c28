package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/health"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Host provides the data for the admin server.
var _ admin.Host = (*Host)(nil)

var (
	errStarting = errors.New("the host is starting")
	errStopping = errors.New("the host is stopping")
)

// Checks implements admin.Host.
func (h *Host) Checks() []admin.Check {
	core := h.core.Load()
	running := h.Err()
	switch {
	case running != nil:
	case h.stopping.Load():
		running = errStopping
	case core == nil:
		running = h.awaited()
	}
	if running != nil {
		return []admin.Check{{Name: "running", Err: running}}
	}
	is := h.readiness(core)
	return []admin.Check{
		{Name: "running"},
		{Name: "cluster", Err: is.Lacks},
		{Name: "shards", Err: is.Away, Advisory: true},
		{Name: "disk", Err: h.disk.Guard(), Advisory: true},
		{Name: "memory", Err: h.memory.Guard(), Advisory: true},
	}
}

// awaited returns what a starting host waits for.
func (h *Host) awaited() error {
	if bootstrapping := h.bootstrapping.Load(); bootstrapping != nil {
		return errors.New(bootstrapping.Awaited())
	}
	if joining := h.joining.Load(); joining != nil {
		return errors.New(joining.Awaited())
	}
	return errStarting
}

// WriteMetrics implements admin.Host.
func (h *Host) WriteMetrics(w io.Writer) {
	fmt.Fprintf(w, "signalbox_build_info{version=%q} 1\n", h.options.Version)
	fmt.Fprintf(w, "signalbox_uptime_seconds %g\n", time.Since(h.began).Seconds())
	ready := 0
	if h.Ready() == nil {
		ready = 1
	}
	fmt.Fprintf(w, "signalbox_ready %d\n", ready)
	fmt.Fprintf(w, "signalbox_connections_accepted_total %d\n", h.stats.Accepted.Load())
	fmt.Fprintf(w, "signalbox_connections_rejected_total %d\n", h.stats.Refused.Load())
	fmt.Fprintf(w, "signalbox_accept_errors_total %d\n", h.stats.AcceptErrors.Load())
	fmt.Fprintf(w, "signalbox_tls_handshake_failures_total %d\n", h.stats.FailedHandshakes.Load())
	fmt.Fprintf(w, "signalbox_tls_handshakes_evicted_total %d\n", h.stats.EvictedHandshakes.Load())
	for reason := range transport.Refusals {
		fmt.Fprintf(w, "signalbox_raft_messages_rejected_total{reason=%q} %d\n", reason.String(),
			h.raftRefused[reason].Load())
	}
	if peers := h.peers.Load(); peers != nil {
		fmt.Fprintf(w, "signalbox_peer_connections %d\n", peers.KeptPeers())
	}
	var dropped uint64
	if h.options.LogLinesDropped != nil {
		dropped = h.options.LogLinesDropped()
	}
	fmt.Fprintf(w, "signalbox_log_lines_dropped_total %d\n", dropped)
	if h.certificates != nil {
		writeCertificate(w, "clients", h.certificates.Expires())
	}
	if core := h.core.Load(); core != nil {
		if end := h.raftCertificateExpires(); !end.IsZero() {
			writeCertificate(w, "hosts", end)
		}
		core.WriteMetrics(w)
		h.disk.WriteMetrics(w)
		h.memory.WriteMetrics(w)
		fmt.Fprintf(w, "signalbox_memory_full_hosts %d\n", len(h.raft.MemoryFullHosts()))
		fmt.Fprintf(w, "signalbox_disk_full_hosts %d\n", len(h.raft.FullHosts()))
		fmt.Fprintf(w, "signalbox_disk_rejecting_shards %d\n", h.raft.RefusingShards())
	}
	if doors := h.doors.Load(); doors != nil {
		(*doors)(w)
	}
	if h.settings.RaftMetrics {
		// The engine writes to this library's default set.
		vm.WritePrometheus(w, false)
	}
	vm.ExposeMetadata(true) // only the library knows the types of the following metrics
	vm.WriteProcessMetrics(w)
	vm.WriteFDMetrics(w)
}

// AddMetrics adds metrics from a gateway, such as the HTTP API, that a program serves in addition to the host. A host
// supports one such gateway.
func (h *Host) AddMetrics(write func(w io.Writer)) { h.doors.Store(&write) }

// certificateSeries is the expiry time of the certificate shown to clients or to remote hosts.
const certificateSeries = "signalbox_certificate_expiration_timestamp_seconds"

func writeCertificate(w io.Writer, listener string, end time.Time) {
	fmt.Fprintf(w, "%s{listener=%q} %d\n", certificateSeries, listener, end.Unix())
}

// own returns the process's knowledge about the host, for health issues.
func (h *Host) own() health.Own {
	o := health.Own{
		Refused: uint64(h.stats.Refused.Load() + h.stats.AcceptErrors.Load()),
		Open:    uint64(max(h.stats.Open.Load(), 0)),
	}
	if space, low, ok := h.disk.Space(); ok {
		o.Free, o.Total, o.Low, o.InMemory = space.Free, space.Total, low, space.InMemory
	}
	o.Live, o.High = h.memory.Usage().Live, h.memory.High()
	if h.certificates != nil {
		o.Certificates = append(o.Certificates, health.Certificate{Use: "clients", End: h.certificates.Expires()})
	}
	if end := h.raftCertificateExpires(); !end.IsZero() {
		o.Certificates = append(o.Certificates, health.Certificate{Use: "hosts", End: end})
	}
	var most syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most) == nil {
		o.Files = most.Cur
	}
	for _, l := range h.raft.Status() {
		o.Behind = append(o.Behind, health.Behind{Shard: l.ShardID, Entries: l.Lag()})
	}
	return o
}

// Status implements admin.Host.
func (h *Host) Status() admin.Status {
	s, id := &h.settings, h.Identity()
	status := admin.Status{
		Host: admin.HostStatus{
			ID: uint64(cmp.Or(id.HostID, s.HostID())), Name: s.Name, Version: h.options.Version,
			UptimeSeconds: time.Since(h.began).Seconds(), Started: h.began.UTC(),
			ClientAddress: s.Advertise, RaftAddress: s.RaftAdvertise, AdminAddress: s.AdminAdvertise(),
			DataDir: s.DataDir, Starts: id.Starts,
		},
		Connections: admin.Connections{
			Open: h.stats.Open.Load(), Accepted: h.stats.Accepted.Load(),
			Refused: h.stats.Refused.Load(), FailedHandshakes: h.stats.FailedHandshakes.Load(),
		},
	}
	if id.Starts > 0 {
		status.Host.Incarnation = id.Incarnation.String()
	}
	status.Cluster.Hosts = h.records()
	if core := h.core.Load(); core != nil {
		status.Cluster.ID = h.identity.Cluster
		status.Host.ClientAddress, status.Host.AdminAddress = h.addresses.ClientAdvertise, h.addresses.AdminAdvertise
		if space, low, ok := h.disk.Space(); ok {
			status.Disk = &admin.Disk{
				FreeBytes: space.Free, TotalBytes: space.Total, LowMarkBytes: low, Refusing: h.disk.Guard() != nil,
			}
		}
		status.Memory = &admin.Memory{
			LiveBytes: h.memory.Usage().Live, HighMarkBytes: h.memory.High(), LimitBytes: uint64(s.MemoryLimit),
			Refusing: h.memory.Guard() != nil,
		}
		h.addShards(&status, core.Status())
		if c, err := h.Cluster(); err == nil {
			status.Cluster.Tolerated, status.Cluster.HealthIssues = c.Tolerated, c.HealthIssues
		}
	}
	return status
}

// records returns the hosts in the cluster or, before the bootstrap, the hosts in the list.
func (h *Host) records() (all []admin.HostRecord) {
	if members := h.known.Load(); members != nil && len(*members) > 0 {
		for _, m := range *members {
			if !m.Expelled {
				all = append(all, admin.HostRecord{ID: uint64(m.ID), Name: m.Name, RaftAddress: m.Raft})
			}
		}
		return all
	}
	for i, first := range h.settings.InitialHosts {
		all = append(all, admin.HostRecord{ID: uint64(i + 1), Name: first.Name, RaftAddress: first.Raft})
	}
	return all
}

// addShards adds the state of all shards, from the log and the server, and the cluster's host information.
func (h *Host) addShards(status *admin.Status, host server.Status) {
	status.Fresh, status.Cluster.RoutingVersion = &host.Fresh, host.RoutingVersion
	status.Cluster.FeatureLevel, status.Cluster.LevelHeldBy = int(host.Level.Cluster), host.Level.Holders()
	status.Cluster.Generation = host.Generation
	status.Host.NewestLevel = int(host.Level.Newest)
	for _, known := range host.Hosts {
		for i := range status.Cluster.Hosts {
			if to := &status.Cluster.Hosts[i]; to.ID == uint64(known.ID) {
				to.ClientAddress, to.AdminAddress, to.Version = known.ClientAddress, known.AdminAddress, known.Version
			}
		}
	}
	for _, l := range h.raft.Status() {
		shown := admin.ShardStatus{
			ID: l.ShardID, Leader: uint64(l.Leader), Leads: l.Leader == h.identity.HostID, Term: l.Term,
			Applied: l.AppliedIndex, Lag: l.Lag(),
		}
		for i := range host.Shards {
			if host.Shards[i].ID == l.ShardID {
				shown.ShardContent = &host.Shards[i].ShardContent
			}
		}
		status.Shards = append(status.Shards, shown)
	}
}
