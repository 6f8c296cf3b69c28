// Package protocol defines the protocol between Signalbox clients and hosts: frames, messages, statuses, and the codec
// that converts messages to bytes and back.
//
// The specification is docs/protocol.md; the examples in testdata/vectors bind both.
//
// Start with operations.go, the table with all messages and their number, name, level and right. Messages are in files
// by subject, such as semaphore.go. codec.go describes how a message lists its fields; a test writes the files that end
// in _gen.go.
//
// # Sending and receiving
//
// An Encoder appends whole frames to a buffer. ScanFrame finds the frames in the bytes received on a connection; a
// RequestDecoder (in a host) or an AnswerDecoder (in a client) reads their payloads. Encoders and decoders are meant to
// be kept as long as the connection or its event loop. An encoder or decoder is not safe for concurrent use.
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
// A decoded message belongs to its decoder and lasts until the next call. Texts, bytes and lists in the message are
// views into the received frame, so callers must copy what they keep. Only the strings in a Result are copies.
//
// Decoding checks types and maximum sizes, and names the invalid field. Decoding does not check rules that depend on
// the state, or on the request's meaning: that a name is not empty, or that a count is not 0.
//
// Decoding never allocates more than twice the frame size, however the frame was made.
package protocol

import (
	"embed"
	"io/fs"
)

// The files below are shared by clients in all languages, and are independent of any language: docs/conformance.md
// describes how clients are tested against them. Clients and hosts do not need the files to run, so a program that does
// not name the variables does not contain the files either.

// Schema is testdata/schema.json: every message with its kind, the positions, names and types of its fields, their
// limits and levels, the statuses, and the names of enum values. A test in this package generates the file from the
// operation table and from the decoders' rules, and fails if the file differs.
//
//go:embed testdata/schema.json
var Schema []byte

// scripts are the files that Scripts returns.
//
//go:embed testdata/scripts
var scripts embed.FS

// Scripts are the files in testdata/scripts: what a host sends, omits, delays and disconnects, and how a client may and
// must react. Package conform plays the scripts.
func Scripts() fs.FS {
	files, err := fs.Sub(scripts, "testdata/scripts")
	if err != nil {
		panic("protocol: the scripts: " + err.Error()) // the path is that of the line above
	}
	return files
}
