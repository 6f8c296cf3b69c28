// Package membership keeps a host a member of its cluster. A host registers its start and its addresses, reports that
// it stops, and follows the plan for the hosts.
//
//	membership.go    the parts together, calls of other hosts, and questions to the leader of the meta shard
//	registration.go  keeps the host's own record up to date
//	report.go        proposes what other hosts report, at the leader of the meta shard
//	governor.go      the meta shard as the executor sees it
package membership
