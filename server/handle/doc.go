// Package handle contains the code that request handlers share. The subpackages contain the handlers, by subject.
//
// A Handler takes a Request, and returns an answer, an error, or a pending operation that completes later. It never
// writes to the connection: the connection answers, in one place.
//
//	request.go     Request, and the handler's interface to the Connection
//	reply.go       Reply, Ticket, and errors that must be looked up first
//	host.go        Host: the handlers' interface to their host; shared refusals and barriers
//	check.go       request checks: each returns an error
//	page.go        lists and descriptions, page by page
package handle
