// Package protocol is what a client and a host of Signalbox say to each other: frames, messages,
// statuses, and the codec that turns them into bytes and back.
//
// The written form is docs/protocol.md; the examples in testdata/vectors bind both.
//
// Start with operations.go, the table of all messages: number, name, level and right of each. Messages are in files by
// what they are about, such as semaphore.go. codec.go says how a message names its fields.
//
// # Sending and receiving
//
// An Encoder appends whole frames to a buffer. ScanFrame finds the frames in what a connection has received; a
// RequestDecoder (in a host) or an AnswerDecoder (in a client) reads their payloads. All are meant to be kept for as
// long as the connection or its event loop; none may be used by two goroutines at a time.
//
//	encoder.Request(buf, id, &protocol.Ping{})
//
//	payload, size, err := protocol.ScanFrame(received, limit)
//	...
//	request, err := decoder.Decode(payload)
//	...
//	switch request.Kind {
//	case protocol.KindAcquire:
//		acquire(request.ID, &request.Acquire)
//	}
//
// # Caveats
//
// A message that was decoded belongs to its decoder and lasts until the next call. The texts, bytes and lists in it are
// views into the received frame: who keeps them copies them. Only the strings of a Result are copies.
//
// Decoding checks types, and the most that a field may hold; it names the field that offends. It does not check what
// only the state, or the meaning of a request, can show: that a name is not empty, or that a count is not 0.
//
// No frame can make decoding allocate more than twice its own size, however it was made.
package protocol

import (
	"embed"
	"io/fs"
)

// The files below are shared by the clients of all languages, and name none: docs/conformance.md says how a client is
// held to them. Nothing that a client or a host needs reads them, so a program that does not name them does not carry
// them either.

// Schema is testdata/schema.json: every message with its kind, the positions, names and types of its fields, their
// limits and levels, the statuses, and the names of small numbers. A test of this package writes the file from the
// table of operations and from what the decoders want, and fails where the file says something else.
//
//go:embed testdata/schema.json
var Schema []byte

// scripts are the files of Scripts.
//
//go:embed testdata/scripts
var scripts embed.FS

// Scripts are the files of testdata/scripts: what a host says, does not say, delays and cuts, and what a client may do
// then, and must do. Package conform plays them.
func Scripts() fs.FS {
	files, err := fs.Sub(scripts, "testdata/scripts")
	if err != nil {
		panic("protocol: the scripts: " + err.Error()) // the path is that of the line above
	}
	return files
}
