// Package protocol is the language of clients and hosts of Signalbox: frames, messages, statuses, and the codec that
// turns messages into bytes and back.
//
// The written form is docs/protocol.md; the examples in testdata/vectors bind both.
//
// Start with operations.go, the table of all messages with number, name, level and right. Messages are in files by
// their subject, such as semaphore.go. codec.go says how a message names its fields; a test writes the files that end
// in _gen.go.
//
// # Sending and receiving
//
// An Encoder appends whole frames to a buffer. ScanFrame finds the frames in the received bytes of a connection; a
// RequestDecoder (in a host) or an AnswerDecoder (in a client) reads their payloads. Encoders and decoders are meant to
// be kept as long as the connection or its event loop. Two goroutines must not use the same encoder or decoder at a
// time.
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
// A decoded message belongs to its decoder and lasts until the next call. Texts, bytes and lists of the message are
// views into the received frame, so a keeper copies. Only the strings of a Result are copies.
//
// Decoding checks types, and the most that a field may hold, and names the offending field. Decoding does not check
// what only the state, or the meaning of a request, can show: that a name is not empty, or that a count is not 0.
//
// No frame, however made, can make decoding allocate more than twice the size of the frame.
package protocol

import (
	"embed"
	"io/fs"
)

// The files below are shared by the clients of all languages, and name no language: docs/conformance.md says how
// clients are held to the files. No client and no host needs the files to run, so a program that does not name the
// variables does not contain the files either.

// Schema is testdata/schema.json: every message with its kind, the positions, names and types of its fields, their
// limits and levels, the statuses, and the names of enum values. A test of this package writes the file from the
// table of operations and from what the decoders want, and fails where the file says something else.
//
//go:embed testdata/schema.json
var Schema []byte

// scripts are the files of Scripts.
//
//go:embed testdata/scripts
var scripts embed.FS

// Scripts are the files of testdata/scripts: what a host says, does not say, delays and cuts, and how a client may and
// must react. Package conform plays the scripts.
func Scripts() fs.FS {
	files, err := fs.Sub(scripts, "testdata/scripts")
	if err != nil {
		panic("protocol: the scripts: " + err.Error()) // the path is the path of the line above
	}
	return files
}
