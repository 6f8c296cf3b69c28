// Package handle has what request handlers share. The packages below have the handlers, by subject.
//
// A Handler takes a Request, and returns an answer, an error, or a pending operation that completes later. It never
// writes to the connection: the connection answers, in one place.
//
//	request.go     Request, and what a handler knows of the Connection
//	reply.go       Reply, Ticket, and errors that must be looked up first
//	host.go        Host: what handlers know of their host; refusals and barriers that many of them need
//	check.go       checks of a request: each returns an error
//	page.go        lists and descriptions, page by page
package handle
