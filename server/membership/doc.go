// Package membership keeps a host a member of its cluster. The host registers its starts and addresses, reports when it
// stops, and follows the governor's plan.
//
//	membership.go    the parts together, calls of other hosts, and questions to the leader of the meta shard
//	registration.go  keeps the host's own record up to date
//	report.go        reports to the leader of the meta shard, and proposes there what other hosts report
//	governor.go      the meta shard as the executor sees it
package membership
