// Package membership keeps a host a member of its cluster. The host registers its starts and addresses, reports when
// it stops, and follows the governor's plan.
//
//	membership.go    ties the parts together; calls from other hosts, and questions to the meta shard leader
//	registration.go  keeps the host's own record up to date
//	report.go        reports to the meta shard leader, and proposes there what other hosts report
//	governor.go      the executor's view of the meta shard
package membership
