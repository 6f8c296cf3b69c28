package protocol

import (
	"github.com/signalbox/signalbox/protocol/host"
)

// Operators' queries about a cluster's hosts, the governor and the audit log. Ages are in milliseconds, by the
// answering host's clock.

// ClusterDescribe asks for everything known about a cluster's hosts, replicas and governor. With STRICT, and if
// Consistency is 0, the meta shard's leader answers, and all other hosts answer MOVED. With RELAXED every host answers
// from its memory, even without a majority.
type ClusterDescribe struct {
	Consistency Consistency
}

// ClusterDescribeAnswer answers a ClusterDescribe.
type ClusterDescribeAnswer struct {
	ClusterID  []byte `wire:"text MaxClusterIDBytes"`
	Generation Generation
	// GovernorHostID is the meta shard's leader, 0 for none.
	GovernorHostID uint64
	// Observed is set if the answering host governs, and has heard from all other hosts. Otherwise all observations are
	// missing.
	Observed bool
	Hosts    []host.Host  `wire:"most MaxPageItems"`
	Shards   []host.Shard `wire:"most MaxPageItems"`
	Policy   host.Policy
	// HealthIssues are the cluster's health issues, worst first.
	HealthIssues HealthIssues
	// LastAudit is the newest audit entry's id.
	LastAudit uint64
}

// ClusterPlan asks the governing host for the coming steps, until nothing is left to do. Nothing is changed.
type ClusterPlan struct{}

// ClusterPlanAnswer answers a ClusterPlan.
type ClusterPlanAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons explain why no step follows the last step; without any reason the cluster is healthy.
	Reasons []host.Reason `wire:"most MaxPageItems"`
	// Truncated is set if the plan continues after the last step in Steps.
	Truncated bool
}

// ClusterWhy asks the governing host for the open steps, and why the governor waits.
type ClusterWhy struct{}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons explain why no other step is open; without any reason the cluster is healthy.
	Reasons []host.Reason `wire:"most MaxPageItems"`
}

// AuditRead asks for an audit log page.
type AuditRead struct {
	// From is the id of the page's first entry; 0 asks for the newest entries.
	From uint64
	// Limit is the maximum number of entries on the page; 0 lets the host choose.
	Limit uint64
}

// AuditReadAnswer answers an AuditRead.
type AuditReadAnswer struct {
	Entries []host.Entry `wire:"most MaxPageItems"` // by id
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Oldest and Newest are the ids of the oldest and the newest kept entry; 0 if there are none.
	Oldest uint64
	Newest uint64
}

// Records in a ClusterDescribeAnswer.

// Generation distinguishes a cluster from the cluster before a recovery. Before the first recovery both fields are
// zero.
type Generation struct {
	Number uint64
	Nonce  []byte `wire:"bytes MaxIncarnationBytes"` // 16 random bytes
}
