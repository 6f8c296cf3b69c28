// Package operation is the table of plain operations: requests that the client answers with one call. A row declares
// the HTTP path, the kind of the protocol, a sentence for the reader, and the call. Package gateway/http makes a route
// from each row, with decoding, an OpenAPI entry and a line in the docs. The tool makes a command from each command
// entry of a row, with arguments, flags, completion, a table, JSON and a line in the reference. Permission and audit
// follow from the kind.
//
// Start reading with Operation and read; row.go has All, which lists the rows. A request is a struct: package apijson
// says how a field is called in JSON, and tags say the rest. The tag about describes the field, need makes the field
// required over HTTP, and arg is the word for an argument of a command. The tag flag is the name of a flag where the
// name in JSON does not fit, help the description of the flag where about does not fit, with the word for the value
// in single quotes, and default the value without the flag. The tag form says how a number has to look, check
// has a command check a path before the call, and wide sets a field for -o wide.
//
// Three shapes cover the rows. A read with one answer is a row of read; follow adds a watch, so that a browser sees
// changes at once. A list is a row of pages, or of overNodes for the objects of nodes: over HTTP such a list comes in
// pages with a cursor, because a node can have millions of objects, and a command prints all pages. A change is a row
// of change, apply or govern. The answer of a change without a result says whether something changed, because a
// repeated change of the cluster is no error.
//
// Operations that hold a session, stream, or combine several answers are no rows: packages gateway/http and
// cmd/signalbox have code for these.
package operation
