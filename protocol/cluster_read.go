package protocol

import (
	"github.com/signalbox/signalbox/protocol/host"
)

// The questions of operators about the hosts of a cluster, the governor and the history. Ages are in milliseconds, by
// the clock of the answering host.

// ClusterDescribe asks for everything known of the hosts, the replicas and the governor of a cluster. With STRICT, and
// where Consistency is 0, the leader of the meta shard answers, and all other hosts answer MOVED. With RELAXED every
// host answers from its memory, even without a majority.
type ClusterDescribe struct {
	Consistency Consistency
}

// ClusterDescribeAnswer answers a ClusterDescribe.
type ClusterDescribeAnswer struct {
	ClusterID  []byte `wire:"text MaxClusterIDBytes"`
	Generation Generation
	// GovernorHostID is the host that leads the meta shard, 0 for none.
	GovernorHostID uint64
	// Observed: the answering host governs, and has heard from all other hosts. Otherwise all observations are missing.
	Observed bool
	Hosts    []host.Host  `wire:"most MaxPageItems"`
	Shards   []host.Shard `wire:"most MaxPageItems"`
	Policy   host.Policy
	// HealthIssues are the health issues of the cluster, the worst first.
	HealthIssues HealthIssues
	// LastAudit is the id of the newest change in the history.
	LastAudit uint64
}

// ClusterPlan asks the governing host for the coming steps, step after step until nothing is left to do. Nothing is
// changed.
type ClusterPlan struct{}

// ClusterPlanAnswer answers a ClusterPlan.
type ClusterPlanAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons say why no step follows the last step; without any reason the cluster is as it should be.
	Reasons []host.Reason `wire:"most MaxPageItems"`
	// Cut: the plan goes on behind the last of Steps.
	Truncated bool
}

// ClusterWhy asks the governing host for the open steps, and why the governor waits.
type ClusterWhy struct{}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons say why no other step is open; without any reason the cluster is as it should be.
	Reasons []host.Reason `wire:"most MaxPageItems"`
}

// AuditRead asks for a page of the history of changes.
type AuditRead struct {
	// From is the id of the first change of the page; 0 asks for the newest changes.
	From uint64
	// Limit is the most changes that the page may have; 0 leaves the choice to the host.
	Limit uint64
}

// AuditReadAnswer answers an AuditRead.
type AuditReadAnswer struct {
	Entries []host.Entry `wire:"most MaxPageItems"` // by id
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Oldest and Newest are the ids of the oldest and the newest kept change; 0 without any change.
	Oldest uint64
	Newest uint64
}

// The records of a ClusterDescribeAnswer.

// Generation distinguishes a cluster from the cluster before a recovery. Before the first recovery both fields are
// zero.
type Generation struct {
	Number uint64
	Nonce  []byte `wire:"bytes MaxIncarnationBytes"` // 16 random bytes
}
