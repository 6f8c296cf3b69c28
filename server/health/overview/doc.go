// Package overview describes a cluster's hosts to operators. It builds the answers from the host records, the plan
// and the governor's observations, and finds health issues.
//
// Start with Describe and Issues. All functions are pure.
package overview
