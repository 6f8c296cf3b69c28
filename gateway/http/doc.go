// Package http serves a cluster's HTTP API.
//
// The gateway talks to hosts through the client, and every request has its token's rights: a caller may do over HTTP
// exactly what the caller's token allows over the protocol. So every host can serve the API, and a separate program can
// too.
//
// Start at table in routes.go: a row is a route, and handlers, the OpenAPI document and the reference in the docs are
// generated from the rows. Package internal/apijson defines the JSON form, view.go how streams follow responses, and
// guard.go which requests from other sites' pages are rejected.
package http
