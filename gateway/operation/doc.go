// Package operation is the table of plain operations: requests that the client answers with one call. A row declares
// the HTTP path, the protocol kind, a sentence for the reader, and the call. Package gateway/http makes a route from
// each row, with decoding, an OpenAPI entry and a line in the docs. The tool makes a command from each command entry in
// a row, with arguments, flags, completion, a table, JSON and a line in the reference. Permission and audit follow from
// the kind.
//
// Start reading with Operation and read; row.go has All, which lists the rows. A request is a struct: package apijson
// defines a field's JSON name, and tags define the rest. The tag about describes the field, need makes the field
// required over HTTP, and arg names a command argument. If the JSON name does not suit a flag, the tag flag sets the
// flag's name. If about does not suit, help describes the flag, with the value's name in single quotes. The tag default
// is the value without the flag. The tag form defines a number's format, check makes a command check a path before the
// call, and wide sets a field for -o wide.
//
// Three shapes cover the rows. A read with one answer is a row of read; follow adds a watch, so that a browser sees
// changes at once. A list is a row of pages, or overNodes for objects in nodes: over HTTP the list comes in pages with
// a cursor, because a node can have millions of objects, and a command prints all pages. A change is a row of change,
// apply or govern. The response to a change without a result reports whether something changed, because repeating a
// cluster change is not an error.
//
// Operations that hold a session, stream, or combine several answers are no rows: packages gateway/http and
// cmd/signalbox have code for these.
package operation
