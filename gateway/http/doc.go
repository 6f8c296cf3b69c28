// Package http serves the HTTP API of a cluster.
//
// It speaks to hosts through the client, each request by the token that it shows: a caller may do over HTTP what its
// token allows over the protocol, and no more. So any host can serve it, and a program too that is none.
//
// Start at table in routes.go: a row is a route, and handlers, the OpenAPI document and the reference in the docs are
// made from the rows. Package internal/shape says what values are like in JSON, view.go how streams follow what routes
// answer, and guard.go which requests from pages of other sites are refused.
package http
