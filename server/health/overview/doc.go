// Package overview describes the hosts of a cluster to operators. It builds the answers from the records, the plan and
// the governor's observations, and finds health issues.
//
// Start with Describe and Issues. All functions are pure.
package overview
