// Package http serves the HTTP API of a cluster.
//
// The gateway speaks to hosts through the client, and every request has the rights of its token: a caller may do over
// HTTP what the caller's token allows over the protocol, and no more. So every host can serve the API, and a program
// that is no host can too.
//
// Start at table in routes.go: a row is a route, and handlers, the OpenAPI document and the reference in the docs are
// made from the rows. Package internal/apijson says how values look in JSON, view.go how streams follow the answers of
// routes, and guard.go which requests from pages of other sites are refused.
package http
